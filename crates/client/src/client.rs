//! The client: connecting, sending, closing.

use std::{path::Path, sync::Arc};

use ironbark_ldap_proto::{EncodeControl, Request};
use ironbark_model::ldap_url::LdapUrl;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    sync::mpsc,
    task::JoinHandle,
};

use crate::{ClientError, ExtendedReply, NegotiatedTls, Options, Pending, connection::Connection};

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
    established: Established,
}

/// How a connection was made.
#[derive(Default, Debug)]
pub(crate) struct Established {
    pub(crate) url: Option<LdapUrl>,
    pub(crate) tls: Option<NegotiatedTls>,
    pub(crate) local: Option<String>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

impl Client {
    /// Connects over TCP; `address` is `host:port`.
    pub async fn connect_tcp(address: &str, options: Options) -> Result<Self, ClientError> {
        let stream = within(options, address, TcpStream::connect(address)).await?;
        // Small requests must not wait for each other's acknowledgement. If the option fails, they are only slower.
        let _ = stream.set_nodelay(true);
        Ok(Self::from_stream(stream, options))
    }

    /// Connects over a unix socket.
    pub async fn connect_unix(path: &Path, options: Options) -> Result<Self, ClientError> {
        let stream = within(options, &path.display().to_string(), UnixStream::connect(path)).await?;
        Ok(Self::from_stream(stream, options))
    }

    /// Uses a stream that is already connected, such as one with TLS. Must be called within a tokio runtime.
    pub fn from_stream(stream: impl AsyncRead + AsyncWrite + Send + 'static, options: Options) -> Self {
        Self::of(stream, options, Established::default())
    }

    pub(crate) fn of(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        options: Options,
        established: Established,
    ) -> Self {
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
                established,
            }),
        }
    }

    /// The URL of the server, if [`Client::connect`] made the connection.
    pub fn url(&self) -> Option<&LdapUrl> {
        self.inner.established.url.as_ref()
    }

    /// The own address of a TCP connection that [`Client::connect`] made: `IP=192.0.2.1:40000`.
    pub fn local_address(&self) -> Option<&str> {
        self.inner.established.local.as_deref()
    }

    /// The TLS of the connection, if [`Client::connect`] made it with TLS.
    pub fn tls(&self) -> Option<&NegotiatedTls> {
        self.inner.established.tls.as_ref()
    }

    /// Sends a request; its responses come from the [`Pending`].
    pub fn send(&self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Result<Pending, ClientError> {
        let id = self.inner.connection.send(request, controls)?;
        Ok(Pending::new(self.clone(), id, request.operation()))
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
    pub async fn unbind(self) -> Result<(), ClientError> {
        self.inner.connection.send(&Request::Unbind, &[])?;
        let timeout = self.inner.options.operation_timeout;
        tokio::time::timeout(timeout, self.inner.connection.wait_closed())
            .await
            .map_err(|_| ClientError::Timeout(timeout))
    }

    /// Why the connection is closed, if it is.
    pub fn closed(&self) -> Option<ClientError> {
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
) -> Result<T, ClientError> {
    let timeout = options.connect_timeout;
    match tokio::time::timeout(timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| ClientError::Connect {
            address: address.to_owned(),
            reason: error.to_string(),
        }),
        Err(_) => Err(ClientError::ConnectTimeout {
            address: address.to_owned(),
            timeout,
        }),
    }
}

const NOTIFICATIONS: usize = 16;
