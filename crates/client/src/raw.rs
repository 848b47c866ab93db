//! A connection that is given away after the bind: for programs that do the protocol themselves, and never wait in a
//! read or write.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use rustls::ClientConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connect::socket::Stream;

/// A socket, with or without TLS. Reads and writes that would wait are [`io::ErrorKind::WouldBlock`].
///
/// A read fills the buffer with what there is to read. What TLS has taken and the socket has not is sent by
/// the next write, read or flush.
#[derive(Debug)]
pub struct RawStream {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl RawStream {
    pub(crate) fn tcp(socket: tokio::net::TcpStream) -> io::Result<Self> {
        socket.into_std().map(Self::of_tcp)
    }

    pub(crate) fn unix(socket: tokio::net::UnixStream) -> io::Result<Self> {
        socket.into_std().map(Self::of_unix)
    }

    /// The socket never waits.
    pub(crate) fn of_tcp(socket: TcpStream) -> Self {
        let socket = Socket::Tcp(socket);
        Self { socket, tls: None }
    }

    /// The socket never waits.
    pub(crate) fn of_unix(socket: UnixStream) -> Self {
        let socket = Socket::Unix(socket);
        Self { socket, tls: None }
    }

    /// TLS whose handshake is still to come.
    pub(crate) fn begin_tls(&mut self, tls: ClientConnection) {
        self.tls = Some(Box::new(tls));
    }

    pub(crate) fn tls(&self) -> Option<&ClientConnection> {
        self.tls.as_deref()
    }

    /// With the TLS that was negotiated on it.
    pub(crate) fn secured_by(self, tls: ClientConnection) -> Self {
        Self {
            tls: Some(Box::new(tls)),
            ..self
        }
    }
}

impl AsRawFd for RawStream {
    fn as_raw_fd(&self) -> RawFd {
        match &self.socket {
            Socket::Tcp(socket) => socket.as_raw_fd(),
            Socket::Unix(socket) => socket.as_raw_fd(),
        }
    }
}

impl Read for RawStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.read(buffer);
        };
        let mut stream = rustls::Stream::new(&mut **tls, &mut self.socket);
        let mut filled = 0;
        // A record of TLS is short, and nothing tells that the next one has come.
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match stream.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                // It comes again with the next read.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl Write for RawStream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(octets),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.socket).write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.socket).flush(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(octets),
            Self::Unix(socket) => socket.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that a client uses for its bind, and that is taken back then. To the client it is closed after that.
#[derive(Clone)]
pub(crate) struct Lent(Arc<Mutex<Option<Box<dyn Stream>>>>);

impl Lent {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self(Arc::new(Mutex::new(Some(stream))))
    }

    /// The stream; `None`: it was taken before.
    pub(crate) fn take_back(&self) -> Option<Box<dyn Stream>> {
        self.stream().take()
    }

    fn stream(&self) -> MutexGuard<'_, Option<Box<dyn Stream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, write: impl FnOnce(Pin<&mut Box<dyn Stream>>) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match self.stream().as_mut() {
            Some(stream) => write(Pin::new(stream)),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncRead for Lent {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.stream().as_mut() {
            Some(stream) => Pin::new(stream).poll_read(cx, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Lent {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.write(|stream| stream.poll_write(cx, octets))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(|stream| stream.poll_shutdown(cx))
    }
}
