//! Connections that are made one after the other, as by a program that connects for each of its requests. Their user
//! does the protocol itself, and never waits in a call.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ironbark_model::ldap_url::UrlScheme;
use rustix::io::Errno;
use rustls::HandshakeKind;
use socket2::{Domain, Protocol, Socket, Type};

use crate::{
    ClientError, ConnectSettings, Options, RawStream, StartTls,
    connect::socket::Address,
    tls::{Tls, TlsSessions},
};

/// Connects to one server again and again. TLS has the files of the settings as they were at the beginning.
///
/// A client that closes first keeps the port of its connection for a minute (TIME_WAIT), so one address has a few
/// hundred connections a second to a server. To a server at 127.0.0.0/8 connections therefore leave from
/// [`SOURCES`] addresses in turn. Connections to others end with a reset, which keeps nothing.
pub struct Dialer {
    place: Place,
    /// `None` without TLS.
    tls: Option<Tls>,
    /// Whether TLS is the beginning of a connection.
    is_ldaps: bool,
    /// Connections made so far.
    made: AtomicU32,
}

enum Place {
    /// The address that has answered.
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Dialer {
    /// Reads the files of TLS, resolves the host of the first URL and connects to it once. It blocks.
    ///
    /// # Errors
    /// [`ClientError::Setting`]; [`ClientError::Connect`]: no address of the host answers.
    pub fn new(settings: &ConnectSettings, sessions: TlsSessions) -> Result<Self, ClientError> {
        if let Some((keyword, reason)) = &settings.unusable {
            return Err(ClientError::setting(keyword, reason));
        }
        let url = settings.urls.first();
        let url = url.ok_or_else(|| ClientError::setting("uri", "no URL is named"))?;
        let address = Address::of(url);
        let is_ldaps = url.scheme == UrlScheme::Ldaps;
        let tls = (is_ldaps || settings.start_tls != StartTls::No)
            .then(|| Tls::prepare(&settings.tls, address.host(), sessions))
            .transpose()?;
        let limit = Options::of(settings).connect_timeout;
        let place = answering(&address, limit).map_err(|error| address.failed(&error))?;
        Ok(Self {
            place,
            tls,
            is_ldaps,
            made: AtomicU32::new(0),
        })
    }

    /// Begins a connection. Reads and writes before it is there are [`io::ErrorKind::WouldBlock`]. To ldaps:// the
    /// first of them begin the handshake.
    ///
    /// # Errors
    /// Of the system.
    pub fn dial(&self) -> io::Result<RawStream> {
        let mut stream = match &self.place {
            Place::Tcp(server) => RawStream::of_tcp(self.begin(*server)?),
            Place::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                RawStream::of_unix(stream)
            }
        };
        if self.is_ldaps {
            self.secure(&mut stream)?;
        }
        Ok(stream)
    }

    /// Begins TLS: the next write or read does the handshake. Without TLS in the settings the stream stays as it is.
    ///
    /// # Errors
    /// The settings of TLS contradict each other.
    pub fn secure(&self, stream: &mut RawStream) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            stream.begin_tls(tls.begin().map_err(io::Error::other)?);
        }
        Ok(())
    }

    fn begin(&self, server: SocketAddr) -> io::Result<TcpStream> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(server), kind, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        match source(server, self.made.fetch_add(1, Ordering::Relaxed)) {
            Some(source) => socket.bind(&source.into())?,
            None => socket.set_linger(Some(Duration::ZERO))?,
        }
        match socket.connect(&server.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
            _ => Ok(socket.into()),
        }
    }
}

impl RawStream {
    /// Whether TLS has resumed an earlier session.
    pub fn has_resumed_tls(&self) -> bool {
        self.tls().and_then(|tls| tls.handshake_kind()) == Some(HandshakeKind::Resumed)
    }
}

/// The address of connection `number`. `None`: the system's choice.
fn source(server: SocketAddr, number: u32) -> Option<SocketAddr> {
    match server {
        // Other systems have 127.0.0.1 alone.
        SocketAddr::V4(server) if cfg!(target_os = "linux") && server.ip().is_loopback() => {
            let last = u8::try_from(1 + number % SOURCES).unwrap_or(1);
            Some(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))
        }
        _ => None,
    }
}

/// The first address that answers.
fn answering(address: &Address, limit: Duration) -> io::Result<Place> {
    let (host, port) = match address {
        Address::Unix(path) => return UnixStream::connect(path).map(|_| Place::Unix(path.clone())),
        Address::Tcp { host, port } if host.is_empty() => ("localhost", *port),
        Address::Tcp { host, port } => (host.as_str(), *port),
    };
    let mut last = io::Error::other("the host has no address");
    for one in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, limit) {
            Ok(_) => return Ok(Place::Tcp(one)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Addresses of 127.0.0.0/8 that connections leave from.
pub const SOURCES: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_loopback_is_reached_from_many_addresses() {
        let server = SocketAddr::from(([127, 0, 0, 1], 389));
        let found = |number| source(server, number).map(|source| source.to_string());
        assert_eq!(found(0).as_deref(), Some("127.0.0.1:0"));
        assert_eq!(found(SOURCES - 1).as_deref(), Some("127.0.0.200:0"));
        assert_eq!(found(SOURCES), found(0));
        for other in ["192.0.2.1:389", "[::1]:389"] {
            assert_eq!(source(other.parse().unwrap(), 0), None, "{other}");
        }
    }
}
