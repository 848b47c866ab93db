//! A listening socket, and the connections that it gives.

use std::{io, net::SocketAddr};

use socket2::{Socket as AnySocket, TcpKeepalive};
use tokio::net::{TcpListener, UnixListener};

use crate::{connection::Socket, listener::Listener};

/// A listening socket, registered with the runtime that made it.
#[derive(Debug)]
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Local(UnixListener),
}

impl Acceptor {
    /// It belongs to the runtime of the caller.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn new(socket: AnySocket, is_local: bool) -> io::Result<Self> {
        Ok(if is_local {
            Self::Local(UnixListener::from_std(socket.into())?)
        } else {
            Self::Tcp(TcpListener::from_std(socket.into())?)
        })
    }

    /// The next connection, registered with the same runtime, and its address if it has one.
    ///
    /// # Errors
    /// Of the system, or the client has gone again.
    pub(crate) async fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Some(address)))
            }
            Self::Local(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Local(stream), None))
            }
        }
    }
}

/// The socket of a listener, for an acceptor. The connections of a TCP listener have these options: accepted sockets
/// inherit them, which saves each connection two calls of the system.
///
/// # Errors
/// Of the system.
pub(crate) fn socket(listener: &Listener) -> io::Result<AnySocket> {
    let socket = listener.socket.try_clone()?;
    if listener.path.is_none() {
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_keepalive(&TcpKeepalive::new())?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use socket2::SockRef;

    use super::*;

    #[tokio::test]
    async fn accepted_sockets_have_the_options_of_their_listener() {
        let bound = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = bound.local_addr().unwrap();
        bound.set_nonblocking(true).unwrap();
        let listener = Listener {
            url: "ldap:///".into(),
            name: "IP=127.0.0.1".into(),
            socket: bound.into(),
            path: None,
            is_inherited: false,
            is_tls: false,
            is_proxied: false,
        };
        let acceptor = Acceptor::new(socket(&listener).unwrap(), false).unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (Socket::Tcp(accepted), from) = acceptor.accept().await.unwrap() else {
            panic!("a TCP listener");
        };
        let options = SockRef::from(&accepted);
        assert!(options.tcp_nodelay().unwrap() && options.keepalive().unwrap());
        assert_eq!(from, client.local_addr().ok());
    }
}
