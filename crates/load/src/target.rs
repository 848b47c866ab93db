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

/// A connection of a session, without a bind. Its reads and writes never wait, not even for the connection to be made.
pub trait SessionStream: BoundStream {
    /// Begins TLS after StartTLS: the next write or read does the handshake.
    ///
    /// # Errors
    /// Why there can be no TLS.
    fn begin_tls(&mut self) -> Result<(), ConnectFailure>;

    /// Whether TLS has resumed an earlier session.
    fn has_resumed_tls(&self) -> bool;
}

/// Makes a connection, or says why there is none.
type Connect = dyn Fn() -> Result<Box<dyn BoundStream>, ConnectFailure> + Send + Sync;
/// Begins the connection of a session, or says why there is none.
type Open = dyn Fn() -> Result<Box<dyn SessionStream>, ConnectFailure> + Send + Sync;

/// A server, and how its clients connect.
#[derive(Clone)]
pub struct Target {
    url: String,
    way: Way,
}

/// How the clients of a server connect.
#[derive(Clone)]
enum Way {
    /// Once, before the measurement.
    Once(Arc<Connect>),
    /// For each session.
    Again(SessionTarget),
}

/// How a session connects.
#[derive(Clone)]
pub(crate) struct SessionTarget {
    open: Arc<Open>,
    pub(crate) protection: SessionProtection,
}

/// How the connections of sessions are secured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionProtection {
    /// Not at all.
    None,
    /// By TLS, after the server has agreed to StartTLS, which is each session's first request.
    StartTls,
    /// By TLS from the beginning (ldaps://): the connections come with it.
    Ldaps,
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
            way: Way::Once(Arc::new(connect)),
        }
    }

    /// A target to which every session connects anew. `url` is shown, and has no password.
    pub fn of_sessions(
        url: impl Into<String>,
        protection: SessionProtection,
        open: impl Fn() -> Result<Box<dyn SessionStream>, ConnectFailure> + Send + Sync + 'static,
    ) -> Self {
        let open = Arc::new(open);
        Self {
            url: url.into(),
            way: Way::Again(SessionTarget { open, protection }),
        }
    }

    /// The URL, to be shown.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new connection, or the way of sessions to theirs.
    ///
    /// # Errors
    /// There is no connection.
    pub(crate) fn connect(&self) -> Result<Connected, TargetError> {
        let connect = match &self.way {
            Way::Once(connect) => connect,
            Way::Again(sessions) => return Ok(Connected::Sessions(sessions.clone())),
        };
        connect().map(Connected::Stream).map_err(|failure| TargetError {
            url: self.url.clone(),
            reason: failure.to_string(),
        })
    }
}

/// What a client of a target works with.
pub(crate) enum Connected {
    /// A connection for the whole measurement.
    Stream(Box<dyn BoundStream>),
    /// The way to a connection for each session.
    Sessions(SessionTarget),
}

impl SessionTarget {
    /// Begins a connection.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn open(&self) -> Result<Box<dyn SessionStream>, ConnectFailure> {
        (self.open)()
    }
}
