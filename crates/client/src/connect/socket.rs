//! The socket: addresses of URLs, TCP with its options, Unix domain sockets.

use std::{
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use ironbark_model::ldap_url::{LdapUrl, UrlScheme};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream, lookup_host},
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use crate::{ClientError, Keepalive, RawStream, SocketSettings};

/// A connection, with or without TLS.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// The same without tokio.
    ///
    /// # Errors
    /// Of the system.
    fn into_raw(self: Box<Self>) -> io::Result<RawStream>;
}

impl Stream for TcpStream {
    fn into_raw(self: Box<Self>) -> io::Result<RawStream> {
        RawStream::tcp(*self)
    }
}

impl Stream for UnixStream {
    fn into_raw(self: Box<Self>) -> io::Result<RawStream> {
        RawStream::unix(*self)
    }
}

impl Stream for TlsStream<Box<dyn Stream>> {
    fn into_raw(self: Box<Self>) -> io::Result<RawStream> {
        let (socket, tls) = self.into_inner();
        Ok(socket.into_raw()?.secured_by(tls))
    }
}

/// A socket, and its own address if it has one: `IP=192.0.2.1:40000`, as slapd names it.
pub(crate) type Opened = (Box<dyn Stream>, Option<String>);

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl Address {
    pub(crate) fn of(url: &LdapUrl) -> Self {
        match (url.scheme, url.effective_port()) {
            (UrlScheme::Ldap | UrlScheme::Ldaps, Some(port)) => Self::Tcp {
                host: url.host.clone(),
                port,
            },
            _ if url.host.is_empty() => Self::Unix(PathBuf::from(DEFAULT_SOCKET)),
            _ => Self::Unix(PathBuf::from(&url.host)),
        }
    }

    /// The host of a URL; empty: this machine.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Unix(_) => "",
        }
    }

    pub(crate) fn late(&self, timeout: Duration) -> ClientError {
        ClientError::ConnectTimeout {
            address: self.to_string(),
            timeout,
        }
    }

    pub(crate) fn failed(&self, error: &io::Error) -> ClientError {
        ClientError::Connect {
            address: self.to_string(),
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.is_empty() => write!(f, "localhost:{port}"),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Connects. Each of a host's addresses is tried, and each has `limit`, as has the resolver.
///
/// # Errors
/// [`ClientError::Connect`] or [`ClientError::ConnectTimeout`], for the last address.
pub(crate) async fn open(address: &Address, settings: &SocketSettings, limit: Duration) -> Result<Opened, ClientError> {
    match address {
        Address::Unix(path) => open_unix(address, path, limit).await,
        Address::Tcp { host, port } => {
            let host = if host.is_empty() { "localhost" } else { host };
            let found = timeout(limit, lookup_host((host, *port))).await;
            let found = found.map_err(|_| address.late(limit))?;
            let mut last = address.failed(&io::Error::other("the resolver knows no address"));
            for one in found.map_err(|error| address.failed(&error))? {
                match open_tcp(address, one, settings, limit).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

async fn open_unix(address: &Address, path: &Path, limit: Duration) -> Result<Opened, ClientError> {
    let stream = timeout(limit, UnixStream::connect(path)).await;
    let stream = stream.map_err(|_| address.late(limit))?;
    Ok((Box::new(stream.map_err(|error| address.failed(&error))?), None))
}

async fn open_tcp(
    address: &Address,
    one: SocketAddr,
    settings: &SocketSettings,
    limit: Duration,
) -> Result<Opened, ClientError> {
    let stream = timeout(limit, TcpStream::connect(one)).await;
    let stream = stream.map_err(|_| address.late(limit))?;
    let stream = stream.map_err(|error| address.failed(&error))?;
    set_options(&stream, settings).map_err(|error| address.failed(&error))?;
    let local = stream.local_addr().map(|local| format!("IP={local}")).ok();
    Ok((Box::new(stream), local))
}

/// Probes are always sent, as libldap does; how often is the system's choice unless it is set.
fn set_options(stream: &TcpStream, settings: &SocketSettings) -> io::Result<()> {
    // Small requests must not wait for each other's acknowledgement.
    stream.set_nodelay(true)?;
    let mut keepalive = TcpKeepalive::new();
    if let Some(idle) = settings.keepalive.idle {
        keepalive = keepalive.with_time(idle);
    }
    if let Some(probes) = settings.keepalive.probes {
        keepalive = keepalive.with_retries(probes);
    }
    if let Some(interval) = settings.keepalive.interval {
        keepalive = keepalive.with_interval(interval);
    }
    let socket = SockRef::from(stream);
    socket.set_keepalive(true)?;
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(settings.user_timeout.or_else(|| patience(&settings.keepalive)))
}

/// How long a connection lasts that is cut while it is idle. The system sends no probes while something that was sent
/// is not acknowledged, and would wait for a quarter of an hour: the same time is to hold then.
fn patience(keepalive: &Keepalive) -> Option<Duration> {
    let interval = keepalive.interval?;
    Some(keepalive.idle? + interval * keepalive.probes?)
}

/// The usual place of slapd's socket.
const DEFAULT_SOCKET: &str = "/var/run/slapd/ldapi";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_addresses() {
        let address = |url: &str| Address::of(&LdapUrl::parse(url).unwrap()).to_string();
        assert_eq!(address("ldap://a.example"), "a.example:389");
        assert_eq!(address("ldaps://a.example/dc=x"), "a.example:636");
        assert_eq!(address("ldap://[::1]:1389/"), "[::1]:1389");
        assert_eq!(address("ldap:///"), "localhost:389");
        assert_eq!(address("ldapi:///"), "/var/run/slapd/ldapi");
        assert_eq!(address("ldapi://%2Ftmp%2Fx"), "/tmp/x");
    }

    #[tokio::test]
    async fn options_reach_the_socket() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let settings = SocketSettings {
            keepalive: Keepalive {
                idle: Some(Duration::from_secs(61)),
                probes: Some(7),
                interval: Some(Duration::from_secs(11)),
            },
            user_timeout: Some(Duration::from_millis(1_500)),
        };
        set_options(&stream, &settings).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(61));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 7);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(11));
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_millis(1_500)));
        let settings = SocketSettings {
            user_timeout: None,
            ..settings
        };
        set_options(&stream, &settings).unwrap();
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(61 + 77)));
    }
}
