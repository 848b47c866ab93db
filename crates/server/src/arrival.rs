//! A connection between its acceptor and its reactor.

use std::{io, net::SocketAddr, sync::Arc};

use ironbark_directory::Peer;
use socket2::Socket as AnySocket;
use tokio::{
    net::{TcpStream, UnixStream},
    sync::OwnedSemaphorePermit,
};

use crate::{connection::Socket, listener::address_name};

/// A connection on its way from the acceptor.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) socket: AcceptedSocket,
    /// Its share of the descriptors for connections.
    pub(crate) place: OwnedSemaphorePermit,
    /// `None` for a local socket.
    pub(crate) address: Option<SocketAddr>,
    /// `conn=` of the log.
    pub(crate) number: u64,
    /// The listener's name and URL.
    pub(crate) socket_name: Arc<str>,
    pub(crate) listener_url: Arc<str>,
    /// Whether it begins with a TLS handshake (ldaps://).
    pub(crate) is_tls: bool,
    /// Whether it begins with a proxy's header (pldap://, pldaps://).
    pub(crate) is_proxied: bool,
}

/// The socket of a connection on its way.
#[derive(Debug)]
pub(crate) enum AcceptedSocket {
    /// Registered with the runtime that has accepted it.
    Here(Socket),
    /// Registered with none.
    OnItsWay(AnySocket),
}

/// A connection that belongs to its reactor and is not served yet.
pub(crate) struct Arrival {
    pub(crate) socket: Socket,
    pub(crate) place: OwnedSemaphorePermit,
    pub(crate) peer: Peer,
    pub(crate) number: u64,
    pub(crate) is_tls: bool,
}

impl Accepted {
    /// For the runtime of another thread.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn released(self) -> io::Result<Self> {
        let socket = match self.socket {
            AcceptedSocket::Here(Socket::Tcp(stream)) => stream.into_std()?.into(),
            AcceptedSocket::Here(Socket::Local(stream)) => stream.into_std()?.into(),
            AcceptedSocket::OnItsWay(socket) => socket,
        };
        let socket = AcceptedSocket::OnItsWay(socket);
        Ok(Self { socket, ..self })
    }

    /// Registers the socket with this thread's runtime, unless it is, and finds out the peer.
    pub(crate) fn register(self) -> io::Result<Arrival> {
        let Self {
            socket,
            place,
            address,
            number,
            socket_name,
            listener_url,
            is_tls,
            is_proxied: _,
        } = self;
        let mut peer = Peer {
            name: Box::from(&*socket_name),
            socket_name: Box::from(&*socket_name),
            listener_url: Box::from(&*listener_url),
            domain: Some(Box::from(if address.is_some() { "unknown" } else { "local" })),
            address: address.map(|address| address.ip()),
            credentials: None,
        };
        if let Some(address) = address {
            peer.name = address_name(address).into_boxed_str();
        }
        let socket = match socket {
            AcceptedSocket::Here(socket) => socket,
            AcceptedSocket::OnItsWay(socket) if address.is_some() => Socket::Tcp(TcpStream::from_std(socket.into())?),
            AcceptedSocket::OnItsWay(socket) => Socket::Local(UnixStream::from_std(socket.into())?),
        };
        if let Socket::Local(stream) = &socket {
            // If the kernel gives no credentials, SASL EXTERNAL has no identity.
            peer.credentials = stream.peer_cred().ok().map(|who| (who.uid(), who.gid()));
        }
        Ok(Arrival {
            socket,
            place,
            peer,
            number,
            is_tls,
        })
    }
}
