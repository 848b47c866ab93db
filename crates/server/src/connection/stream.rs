//! The two kinds of sockets under a connection.

use std::{
    io,
    net::Shutdown,
    os::fd::{AsRawFd, RawFd},
    pin::Pin,
    task::{Context, Poll},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// A connected socket, registered with its reactor's runtime.
#[derive(Debug)]
pub(crate) enum Stream {
    /// ldap://
    Tcp(TcpStream),
    /// ldapi://
    Local(UnixStream),
}

impl Stream {
    /// Reads what there is, up to the length of `buffer`. Zero is the end of the stream.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
            Self::Local(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
        }
        .map_ok(|()| buffer.filled().len())
    }

    /// Writes as much as the socket takes.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Local(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    /// Ends the sending direction and throws away what has been received, so that closing sends no reset that would overtake the
    /// last message.
    pub(crate) fn finish(&mut self, scratch: &mut [u8]) {
        let _ = match self {
            Self::Tcp(stream) => SockRef::from(&*stream).shutdown(Shutdown::Write),
            Self::Local(stream) => SockRef::from(&*stream).shutdown(Shutdown::Write),
        };
        for _ in 0..MAX_DISCARDED_READS {
            let read = match self {
                Self::Tcp(stream) => stream.try_read(scratch),
                Self::Local(stream) => stream.try_read(scratch),
            };
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
    }

    /// The `fd=` of the log.
    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Local(stream) => stream.as_raw_fd(),
        }
    }
}

const MAX_DISCARDED_READS: usize = 16;
