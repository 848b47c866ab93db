//! The target of the load: how connections to the server are made, and how they are called.

use std::{
    fmt,
    io::{Read, Write},
    os::fd::AsRawFd,
    sync::Arc,
};

/// A connection that is secured and bound. Its reads and writes never wait.
///
/// A read fills the buffer with what there is to read: the engine takes a buffer with room for the end of
/// what has come.
pub trait BoundStream: Read + Write + AsRawFd + Send {}

impl<T: Read + Write + AsRawFd + Send> BoundStream for T {}

/// Makes a connection, or says why there is none.
type Connect = dyn Fn() -> Result<Box<dyn BoundStream>, ConnectFailure> + Send + Sync;

/// A server, and how its clients connect.
#[derive(Clone)]
pub struct Target {
    url: String,
    connect: Arc<Connect>,
}

/// A name and a password.
#[derive(Clone)]
pub struct SimpleCredentials {
    /// Name to bind as.
    pub dn: String,
    /// Its password.
    pub password: Vec<u8>,
}

/// What the connecting side says: why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectFailure(pub String);

/// A target to which there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {reason}")]
pub struct TargetError {
    /// As shown.
    pub url: String,
    /// What the connecting side says.
    pub reason: String,
}

impl fmt::Debug for SimpleCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleCredentials")
            .field("dn", &self.dn)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Target {
    /// A target. `url` is shown, and has no password.
    pub fn new(
        url: impl Into<String>,
        connect: impl Fn() -> Result<Box<dyn BoundStream>, ConnectFailure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            url: url.into(),
            connect: Arc::new(connect),
        }
    }

    /// The URL, to be shown.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new connection.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn connect(&self) -> Result<Box<dyn BoundStream>, TargetError> {
        (self.connect)().map_err(|failure| TargetError {
            url: self.url.clone(),
            reason: failure.to_string(),
        })
    }
}
