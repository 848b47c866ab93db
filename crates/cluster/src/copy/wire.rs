//! What goes over the connection, which is TLS from its first octet.
//!
//! The sender: the secret, and about how many octets the file has (8). The receiver: one octet, if it wants them. The
//! sender: chunks, each with its length before it (4); one of length 0 is the end. Without it the copy is not whole.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

use super::request::SECRET;

/// How long either side may keep silent.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// How long connecting, the handshake and the greeting may take.
pub(super) const GREETING: Duration = Duration::from_secs(10);
/// The longest chunk.
pub(super) const CHUNK: usize = 256 << 10;
/// The receiver's octet.
const WANTED: u8 = 1;

/// What is done within a time.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the other side is silent")),
    }
}

/// The sender's greeting. Returns when the receiver wants the copy.
pub(super) async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    secret: &[u8; SECRET],
    length: u64,
) -> io::Result<()> {
    stream.write_all(secret).await?;
    stream.write_u64(length).await?;
    stream.flush().await?;
    match stream.read_u8().await? {
        WANTED => Ok(()),
        other => Err(io::Error::other(format!("an answer that is none: {other}"))),
    }
}

/// The receiver's side of it, up to the octet: how many octets come.
pub(super) async fn greeted(stream: &mut (impl AsyncRead + Unpin), secret: &[u8; SECRET]) -> io::Result<u64> {
    let mut presented = [0; SECRET];
    stream.read_exact(&mut presented).await?;
    // The time that it takes says nothing about where they differ.
    let difference = presented
        .iter()
        .zip(secret)
        .fold(0, |all, (one, other)| all | (one ^ other));
    if difference != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a wrong secret"));
    }
    stream.read_u64().await
}

/// Tells the sender to go on.
pub(super) async fn want(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_u8(WANTED).await?;
    stream.flush().await
}

/// Sends a chunk; an empty one is the end.
pub(super) async fn send(stream: &mut (impl AsyncWrite + Unpin), chunk: &[u8]) -> io::Result<()> {
    let length = u32::try_from(chunk.len()).map_err(io::Error::other)?;
    stream.write_u32(length).await?;
    stream.write_all(chunk).await?;
    if chunk.is_empty() {
        stream.flush().await?;
    }
    Ok(())
}

/// The next chunk, in `chunk`. False: the end.
pub(super) async fn receive(stream: &mut (impl AsyncRead + Unpin), chunk: &mut Vec<u8>) -> io::Result<bool> {
    let length = stream.read_u32().await? as usize;
    if length > CHUNK {
        return Err(io::Error::other("a chunk is too long"));
    }
    chunk.resize(length, 0);
    stream.read_exact(chunk).await?;
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn chunks_come_as_they_were_sent_and_a_wrong_secret_is_refused() {
        let (mut one, mut other) = tokio::io::duplex(64);
        let sender = async {
            greet(&mut one, &[1; SECRET], 5).await.unwrap();
            send(&mut one, b"abc").await.unwrap();
            send(&mut one, b"").await.unwrap();
        };
        let receiver = async {
            assert_eq!(greeted(&mut other, &[1; SECRET]).await.unwrap(), 5);
            want(&mut other).await.unwrap();
            let mut chunk = Vec::new();
            assert!(receive(&mut other, &mut chunk).await.unwrap());
            assert_eq!(chunk, b"abc");
            assert!(!receive(&mut other, &mut chunk).await.unwrap());
        };
        tokio::join!(sender, receiver);
        let mut wrong = [0_u8; SECRET + 8];
        wrong[0] = 1;
        assert!(greeted(&mut &wrong[..], &[1; SECRET]).await.is_err());
        assert!(receive(&mut &[255_u8; 8][..], &mut Vec::new()).await.is_err());
        assert!(
            receive(&mut &[0_u8, 0, 0, 9, 1][..], &mut Vec::new()).await.is_err(),
            "cut off"
        );
    }
}
