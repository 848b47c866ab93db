//! The octet stream of a connection: a socket, TLS on a socket, and a SASL security layer on either.

use std::{
    io,
    net::Shutdown,
    os::fd::{AsRawFd, RawFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::server::TlsStream;

use ironbark_directory::{ConnectionSource, SecurityLayer};
use ironbark_runtime::Claimant;

use super::layer::{Layered, Transport};
use crate::tls::{Established, Handshake, TlsContext};

/// A connected socket, registered with its reactor's runtime.
#[derive(Debug)]
pub(crate) enum Socket {
    /// ldap://
    Tcp(TcpStream),
    /// ldapi://
    Local(UnixStream),
}

/// A connection's stream of octets.
pub(crate) struct Stream {
    descriptor: RawFd,
    state: State,
    layer: Option<Box<Layered>>,
}

enum State {
    Plain(Socket),
    /// A TLS handshake is under way.
    Handshake(Box<Handshake>),
    /// TLS, and the facts of its handshake until they are taken.
    Tls(Box<TlsStream<Socket>>, Option<Established>),
    /// A handshake has failed.
    Lost,
}

impl Stream {
    /// A stream without protection.
    pub(crate) fn new(socket: Socket) -> Self {
        Self {
            descriptor: socket.descriptor(),
            state: State::Plain(socket),
            layer: None,
        }
    }

    /// All octets from now on pass through this layer. It replaces an earlier layer (RFC 4422 §3.7).
    pub(crate) fn protect(&mut self, layer: Box<dyn SecurityLayer>) {
        self.layer = Some(Box::new(Layered::new(layer)));
    }

    /// Begins TLS with the handshake, in which we are the server.
    pub(crate) fn start_tls(&mut self, context: Arc<TlsContext>, claimant: Claimant<ConnectionSource>) {
        self.state = match std::mem::replace(&mut self.state, State::Lost) {
            State::Plain(socket) => State::Handshake(Box::new(Handshake::new(socket, context, claimant))),
            other => other,
        };
    }

    /// Whether a handshake is under way.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        matches!(self.state, State::Handshake(..))
    }

    /// The facts of a finished handshake, once.
    pub(crate) fn take_established(&mut self) -> Option<Established> {
        match &mut self.state {
            State::Tls(_, established) => established.take(),
            _ => None,
        }
    }

    /// Continues a handshake that is under way.
    ///
    /// # Errors
    /// The peer does not speak TLS, or not as required.
    pub(crate) fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Handshake(handshake) = &mut self.state else {
            return Poll::Ready(Ok(()));
        };
        let done = ready!(handshake.poll(cx));
        self.state = State::Lost;
        let (stream, established) = done?;
        self.state = State::Tls(stream, Some(established));
        Poll::Ready(Ok(()))
    }

    /// Reads the octets that are there, up to the length of `buffer`. Zero is the end of the stream.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_handshake(cx))?;
        match &mut self.layer {
            Some(layer) => layer.poll_read(&mut self.state, cx, buffer),
            None => self.state.poll_read(cx, buffer),
        }
    }

    /// Writes as much as the stream takes. [`Stream::poll_flush`] makes sure that it leaves.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_handshake(cx))?;
        match &mut self.layer {
            Some(layer) => layer.poll_write(&mut self.state, cx, bytes),
            None => self.state.poll_write(cx, bytes),
        }
    }

    /// Makes everything leave that was written.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(layer) = &mut self.layer {
            ready!(layer.poll_flush(&mut self.state, cx))?;
        }
        match &mut self.state {
            State::Tls(stream, _) => Pin::new(&mut **stream).poll_flush(cx),
            State::Plain(_) | State::Handshake(..) | State::Lost => Poll::Ready(Ok(())),
        }
    }

    /// Ends the sending direction and discards received octets. Otherwise closing would send a reset, which can
    /// overtake the last message.
    pub(crate) fn finish(&mut self, cx: &mut Context<'_>, scratch: &mut [u8]) {
        let socket = match &mut self.state {
            State::Plain(socket) => &*socket,
            State::Tls(stream, _) => {
                // Sends TLS's closing alert if the socket takes it at once, and ends the direction.
                let _ = Pin::new(&mut **stream).poll_shutdown(cx);
                stream.get_ref().0
            }
            State::Handshake(..) | State::Lost => return,
        };
        socket.finish(scratch);
    }

    /// The `fd=` of the log.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor
    }
}

impl Transport for State {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, &mut buffer),
            Self::Tls(stream, _) => Pin::new(&mut **stream).poll_read(cx, &mut buffer),
            Self::Handshake(..) | Self::Lost => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
        .map_ok(|()| buffer.filled().len())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, octets),
            Self::Tls(stream, _) => Pin::new(&mut **stream).poll_write(cx, octets),
            Self::Handshake(..) | Self::Lost => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl Socket {
    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Local(stream) => stream.as_raw_fd(),
        }
    }

    /// Ready when there are octets to read, or when there will never be any.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Local(stream) => stream.poll_read_ready(cx),
        }
    }

    fn finish(&self, scratch: &mut [u8]) {
        for number in 0..MAX_DISCARDED_READS {
            let read = match self {
                Self::Tcp(stream) => stream.try_read(scratch),
                Self::Local(stream) => stream.try_read(scratch),
            };
            // If nothing is unread, as after an unbind, closing sends no reset, and ends the direction, too.
            if !matches!(read, Ok(1..)) {
                break;
            }
            if number == 0 {
                let _ = match self {
                    Self::Tcp(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
                    Self::Local(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
                };
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Local(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Local(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Local(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

const MAX_DISCARDED_READS: usize = 16;
