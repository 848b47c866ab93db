//! The other side of `/readyz`: the probe of a container.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// The most of an answer that is read.
const ANSWER_OCTETS: u64 = 4096;

/// Why a server does not count as ready.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// Nobody answers at the address.
    #[error(transparent)]
    NoAnswer(#[from] io::Error),
    /// The server says that it is not ready.
    #[error("not ready: {status} {body}")]
    NotReady {
        /// The status code of HTTP. Empty: the answer has none.
        status: String,
        /// What the server says.
        body: String,
    },
}

/// Succeeds if the metrics listener at an address says that clients are served. `wait` is the longest wait for each
/// step.
///
/// # Errors
/// The reason: nobody answers, or the server is not ready.
pub fn ask_whether_ready(address: SocketAddr, wait: Duration) -> Result<(), ReadinessError> {
    let ask = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, wait)?;
        stream.set_read_timeout(Some(wait))?;
        stream.set_write_timeout(Some(wait))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(ANSWER_OCTETS).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask()?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") => Ok(()),
        status => Err(ReadinessError::NotReady {
            status: status.unwrap_or_default().to_owned(),
            body: body.trim().to_owned(),
        }),
    }
}
