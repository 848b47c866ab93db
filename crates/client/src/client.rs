//! The client: connecting, sending, closing.

use std::{path::Path, sync::Arc, time::Duration};

use ironbark_ldap_proto::{EncodeControl, Request};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    sync::mpsc,
    task::JoinHandle,
};

use crate::{Error, ExtendedReply, Pending, connection::Connection};

/// Settings of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next response to an operation. After that the operation is abandoned.
    pub operation_timeout: Duration,
    /// Longest message accepted from the server, in octets.
    pub max_message: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            operation_timeout: Duration::from_mins(1),
            max_message: 64 << 20,
        }
    }
}

/// A connection to a server.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connection: Arc<Connection>,
    notifications: tokio::sync::Mutex<mpsc::Receiver<ExtendedReply>>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    options: Options,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

impl Client {
    /// Connects over TCP; `address` is `host:port`.
    pub async fn connect_tcp(address: &str, options: Options) -> Result<Self, Error> {
        let stream = within(options, address, TcpStream::connect(address)).await?;
        // Small requests must not wait for each other's acknowledgement. If the option fails, they are only slower.
        let _ = stream.set_nodelay(true);
        Ok(Self::from_stream(stream, options))
    }

    /// Connects over a unix socket.
    pub async fn connect_unix(path: &Path, options: Options) -> Result<Self, Error> {
        let stream = within(options, &path.display().to_string(), UnixStream::connect(path)).await?;
        Ok(Self::from_stream(stream, options))
    }

    /// Uses a stream that is already connected, such as one with TLS. Must be called within a tokio runtime.
    pub fn from_stream(stream: impl AsyncRead + AsyncWrite + Send + 'static, options: Options) -> Self {
        let (read_half, write_half) = tokio::io::split(stream);
        let (sender, notifications) = mpsc::channel(NOTIFICATIONS);
        let connection = Arc::new(Connection::new(options.max_message, sender));
        let (reads, writes) = (connection.clone(), connection.clone());
        Self {
            inner: Arc::new(Inner {
                connection,
                notifications: tokio::sync::Mutex::new(notifications),
                reader: tokio::spawn(async move { reads.read(read_half).await }),
                writer: tokio::spawn(async move { writes.write(write_half).await }),
                options,
            }),
        }
    }

    /// Sends a request; its responses come from the [`Pending`].
    pub fn send(&self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Result<Pending, Error> {
        let (id, receiver) = self.inner.connection.send(request, controls)?;
        Ok(Pending::new(self.clone(), id, request.operation(), receiver))
    }

    /// Waits for the next unsolicited notification (RFC 4511 §4.4). `None` when the connection is closed and all
    /// notifications have been read.
    ///
    /// At most 16 are kept. Further ones are dropped.
    pub async fn notification(&self) -> Option<ExtendedReply> {
        let mut notifications = self.inner.notifications.lock().await;
        tokio::select! {
            // Notifications from before the end come first.
            biased;
            found = notifications.recv() => found,
            () = self.inner.connection.wait_closed() => None,
        }
    }

    /// Sends unbind and waits until the server closes the connection, at most for the operation timeout.
    pub async fn unbind(self) -> Result<(), Error> {
        self.inner.connection.send(&Request::Unbind, &[])?;
        let timeout = self.inner.options.operation_timeout;
        tokio::time::timeout(timeout, self.inner.connection.wait_closed())
            .await
            .map_err(|_| Error::Timeout(timeout))
    }

    /// Why the connection is closed, if it is.
    pub fn closed(&self) -> Option<Error> {
        self.inner.connection.closed()
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.inner.connection
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }
}

async fn within<T>(
    options: Options,
    address: &str,
    connecting: impl Future<Output = std::io::Result<T>>,
) -> Result<T, Error> {
    let failed = |reason: String| Error::Connect {
        address: address.to_owned(),
        reason,
    };
    match tokio::time::timeout(options.connect_timeout, connecting).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {:?}", options.connect_timeout))),
    }
}

const NOTIFICATIONS: usize = 16;
