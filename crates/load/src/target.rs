//! The target of the load: the server's address, and the name that connections bind as.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    time::Duration,
};

use ironbark_ldap_proto::{Authentication, BindRequest, Request};
use ironbark_model::ldap_url::{LdapUrl, Scheme};

use crate::wire::{Answer, Slot, encode, next_answer};

/// A server and the identity of its clients.
#[derive(Clone, Debug)]
pub struct Target {
    url: String,
    address: Address,
    credentials: Option<Credentials>,
}

/// A name and a password.
#[derive(Clone)]
pub struct Credentials {
    /// Name to bind as.
    pub dn: String,
    /// Its password.
    pub password: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Address {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// Why there is no connection, or no target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The URL is wrong, or its scheme is not supported.
    #[error("{url}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no connection, or it ended.
    #[error("{url}: {source}")]
    Io {
        /// As given.
        url: String,
        /// What the system says.
        source: io::Error,
    },
    /// The bind was refused.
    #[error("{url}: bind as `{dn}` fails with result code {code}")]
    Bind {
        /// As given.
        url: String,
        /// The name.
        dn: String,
        /// Result code.
        code: u32,
    },
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("dn", &self.dn)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// A target. The host's name is resolved now.
    ///
    /// # Errors
    /// [`TargetError::Url`].
    pub fn new(url: &str, credentials: Option<Credentials>) -> Result<Self, TargetError> {
        // What stands before an `@` may be a password.
        let shown = url
            .rsplit_once('@')
            .map_or_else(|| url.to_owned(), |(_, host)| format!("***@{host}"));
        let refused = |reason: String| TargetError::Url {
            url: shown.clone(),
            reason,
        };
        let parsed = LdapUrl::parse(url).map_err(|error| refused(error.to_string()))?;
        let address = match parsed.scheme {
            Scheme::Ldap => {
                let host = if parsed.host.is_empty() {
                    "127.0.0.1"
                } else {
                    &parsed.host
                };
                let port = parsed.effective_port().unwrap_or(389);
                let found = (host, port)
                    .to_socket_addrs()
                    .map_err(|error| refused(error.to_string()))?;
                Address::Tcp(found.collect())
            }
            Scheme::Ldapi => Address::Unix(if parsed.host.is_empty() {
                DEFAULT_SOCKET.into()
            } else {
                parsed.host.into()
            }),
            Scheme::Ldaps => return Err(refused("only ldap:// and ldapi:// are supported".to_owned())),
        };
        Ok(Self {
            url: url.to_owned(),
            address,
            credentials,
        })
    }

    /// The URL as given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The name that connections bind as.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// A connection with a successful bind. It does not block.
    ///
    /// # Errors
    /// [`TargetError::Io`], [`TargetError::Bind`].
    pub(crate) fn connect(&self) -> Result<Stream, TargetError> {
        let failed = |source| TargetError::Io {
            url: self.url.clone(),
            source,
        };
        let mut stream = self.open().map_err(failed)?;
        if let Some(credentials) = &self.credentials {
            let code = bind(&mut stream, credentials).map_err(failed)?;
            if code != 0 {
                return Err(TargetError::Bind {
                    url: self.url.clone(),
                    dn: credentials.dn.clone(),
                    code,
                });
            }
        }
        stream.set_nonblocking().map_err(failed)?;
        Ok(stream)
    }

    fn open(&self) -> io::Result<Stream> {
        match &self.address {
            Address::Tcp(addresses) => {
                let stream = TcpStream::connect(&addresses[..])?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(BIND_TIMEOUT))?;
                Ok(Stream::Tcp(stream))
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(BIND_TIMEOUT))?;
                Ok(Stream::Unix(stream))
            }
        }
    }
}

/// The result code of a bind.
fn bind(stream: &mut Stream, credentials: &Credentials) -> io::Result<u32> {
    let mut request = Vec::new();
    let bind = BindRequest {
        version: 3,
        name: credentials.dn.as_bytes(),
        authentication: Authentication::Simple(&credentials.password),
    };
    encode(&mut request, Slot::FIRST, &Request::Bind(bind));
    stream.write_all(&request)?;
    let mut received = Vec::new();
    loop {
        let mut octet = [0];
        stream.read_exact(&mut octet)?;
        received.extend_from_slice(&octet);
        match next_answer(&received).map_err(io::Error::other)? {
            Answer::Incomplete => {}
            Answer::Result { code, .. } => return Ok(code),
            Answer::Part { .. } => return Err(io::Error::other("a bind was answered with an entry")),
        }
    }
}

impl Stream {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buffer),
            Self::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The usual place of slapd's socket.
const DEFAULT_SOCKET: &str = "/var/run/slapd/ldapi";
const BIND_TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_or_refused_with_a_reason() {
        for url in [
            "ldap://127.0.0.1:3890/",
            "ldap://[::1]/",
            "ldap:///",
            "ldapi://%2Ftmp%2Fx/",
        ] {
            assert!(Target::new(url, None).is_ok(), "{url}");
        }
        for (url, reason) in [("ldaps://127.0.0.1/", "only ldap://"), ("http://x/", "http://x/")] {
            let error = Target::new(url, None).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        let target = Target::new("ldapi://%2Ftmp%2Fno-such-socket/", None).unwrap();
        let error = target.connect().unwrap_err().to_string();
        assert!(error.contains("no-such-socket"), "{error}");
    }
}
