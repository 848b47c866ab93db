//! Requests over HTTP/1.1, and answers that come line by line.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{SendRequest, handshake},
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use ironbark_client::stream::connect;
use ironbark_config::{cluster::Endpoint, connection::TlsSettings};
use tokio::task::{AbortHandle, spawn_local};

use super::Failure;

/// The longest answer, and the longest line of one that does not end, in bytes.
const LONGEST: usize = 64 << 20;
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(1);

/// A connection to a member of etcd.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    driver: Driver,
}

/// What reads and writes. It ends with the connection.
struct Driver(AbortHandle);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Connects.
    pub(super) async fn open(endpoint: &Endpoint, tls: &TlsSettings) -> Result<Self, Failure> {
        let tls = endpoint.is_secure.then_some(tls);
        let stream = connect(&endpoint.host, endpoint.port, tls, CONNECT).await;
        let stream = stream.map_err(|error| Failure::unsent(error.to_string()))?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Failure::unsent(error.to_string()))?;
        let driving = spawn_local(async {
            // Whoever waits for an answer is told.
            let _ = connection.await;
        });
        Ok(Self {
            sender,
            host: format!("{}:{}", endpoint.host, endpoint.port),
            driver: Driver(driving.abort_handle()),
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request: status and body of the answer.
    pub(super) async fn request(
        &mut self,
        path: &str,
        body: Vec<u8>,
        token: Option<&str>,
    ) -> Result<(u16, Bytes), Failure> {
        let answer = self.send(path, body, token).await?;
        let status = answer.status().as_u16();
        let content = Limited::new(answer.into_body(), LONGEST).collect().await;
        let content = content.map_err(|error| Failure::sent(error.to_string()))?;
        Ok((status, content.to_bytes()))
    }

    /// Sends a request whose answer has no end.
    pub(super) async fn stream(mut self, path: &str, body: Vec<u8>, token: Option<&str>) -> Result<Lines, Failure> {
        let answer = self.send(path, body, token).await?;
        Ok(Lines {
            body: answer.into_body(),
            left: Vec::new(),
            searched: 0,
            _driver: self.driver,
        })
    }

    async fn send(&mut self, path: &str, body: Vec<u8>, token: Option<&str>) -> Result<Response<Incoming>, Failure> {
        self.sender
            .ready()
            .await
            .map_err(|error| Failure::unsent(error.to_string()))?;
        let mut request = Request::post(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| Failure::unsent(error.to_string()))?;
        let sent = self.sender.send_request(request).await;
        sent.map_err(|error| Failure::sent(error.to_string()))
    }
}

/// The lines of an answer.
pub(super) struct Lines {
    body: Incoming,
    left: Vec<u8>,
    /// Octets of `left` that have no end of a line.
    searched: usize,
    _driver: Driver,
}

impl Lines {
    pub(super) async fn next(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            let unsearched = self.left.get(self.searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|octet| *octet == b'\n') {
                let rest = self.left.split_off(self.searched + at + 1);
                self.searched = 0;
                return Ok(std::mem::replace(&mut self.left, rest));
            }
            self.searched = self.left.len();
            if self.searched > LONGEST {
                return Err(Failure::sent("an answer of etcd is too long"));
            }
            let frame = self.body.frame().await;
            let frame = frame.ok_or_else(|| Failure::sent("etcd has ended the connection"))?;
            let frame = frame.map_err(|error| Failure::sent(error.to_string()))?;
            if let Some(data) = frame.data_ref() {
                self.left.extend_from_slice(data);
            }
        }
    }
}
