//! One connection: one task reads responses and hands them out, one task writes the gathered requests.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, MessageId, Request, ResponseMessage, frame::needed, message::encode_request,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{Notify, mpsc, watch},
};

use crate::{
    ClientError, ExtendedReply,
    inbox::{Inboxes, Taken},
    incoming::{Incoming, incoming},
};

/// State shared by the client, its two tasks and the operations under way.
#[derive(Debug)]
pub(crate) struct Connection {
    state: Mutex<State>,
    /// There is something to write, or the connection is closing.
    wake_writer: Notify,
    /// A consumer has taken a response or waits for one, or the connection is closed.
    wake_reader: Notify,
    /// Becomes true when the connection is closed.
    is_closed: watch::Sender<bool>,
    /// Longest message accepted, in octets.
    max_message: usize,
}

#[derive(Debug)]
struct State {
    last_id: i32,
    inboxes: Inboxes,
    out: Vec<u8>,
    /// No further request is accepted. The content of `out` is still sent.
    closing: bool,
    closed: Option<ClientError>,
    notifications: mpsc::Sender<ExtendedReply>,
}

impl Connection {
    pub(crate) fn new(max_message: usize, notifications: mpsc::Sender<ExtendedReply>) -> Self {
        Self {
            state: Mutex::new(State {
                last_id: 0,
                inboxes: Inboxes::default(),
                out: Vec::new(),
                closing: false,
                closed: None,
                notifications,
            }),
            wake_writer: Notify::new(),
            wake_reader: Notify::new(),
            is_closed: watch::Sender::new(false),
            max_message,
        }
    }

    /// Queues a request. Its responses come from [`Self::receive`].
    pub(crate) fn send(
        &self,
        request: &Request<'_>,
        controls: &[&dyn EncodeControl],
    ) -> Result<MessageId, ClientError> {
        let mut state = self.lock();
        state.check_open()?;
        let id = state.next_id();
        encode_request(&mut state.out, id, request, controls);
        if request.operation().response_tag().is_some() {
            state.inboxes.open(id.value());
        }
        state.closing = matches!(request, Request::Unbind);
        drop(state);
        self.wake_writer.notify_one();
        Ok(id)
    }

    /// Waits for the next response to a request. `None`: the last one was taken, the operation was forgotten, or the
    /// connection is closed.
    pub(crate) async fn receive(&self, id: MessageId) -> Option<Incoming> {
        loop {
            let taken = {
                let mut state = self.lock();
                let is_closed = state.closed.is_some();
                state.inboxes.take(id.value(), is_closed)
            };
            self.wake_reader.notify_one();
            match taken {
                Taken::Message(incoming) => return Some(incoming),
                Taken::Over => return None,
                Taken::Nothing(consumer) => {
                    let _waiting = Waiting { connection: self, id };
                    consumer.notified().await;
                }
            }
        }
    }

    /// Removes an operation. With `abandon` the server is told so (RFC 4511 §4.11).
    pub(crate) fn forget(&self, id: MessageId, abandon: bool) {
        let was_under_way = self.lock().inboxes.close(id.value());
        self.wake_reader.notify_one();
        if abandon && was_under_way {
            // There is nothing to abandon on a closed connection.
            let _ = self.send(&Request::Abandon(id), &[]);
        }
    }

    /// Why the connection is closed.
    pub(crate) fn closed(&self) -> Option<ClientError> {
        self.lock().closed.clone()
    }

    fn close(&self, reason: ClientError) {
        let mut state = self.lock();
        state.closed.get_or_insert(reason);
        state.inboxes.wake_all();
        drop(state);
        self.is_closed.send_replace(true);
        self.wake_writer.notify_one();
        self.wake_reader.notify_one();
    }

    /// Waits until the connection is closed.
    pub(crate) async fn wait_closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.is_closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Writes the gathered requests until the connection is closed.
    pub(crate) async fn write(&self, mut socket: impl AsyncWrite + Unpin) {
        let mut out = Vec::new();
        loop {
            self.wake_writer.notified().await;
            let closing = {
                let mut state = self.lock();
                std::mem::swap(&mut state.out, &mut out);
                state.closing || state.closed.is_some()
            };
            // A stream with TLS keeps octets back until it is flushed.
            let written = async {
                socket.write_all(&out).await?;
                socket.flush().await
            };
            if let Err(error) = written.await {
                return self.close(ClientError::closed(&error));
            }
            out.clear();
            if closing {
                // The peer may have closed first. Then there is nobody to tell.
                let _ = socket.shutdown().await;
                return;
            }
        }
    }

    /// Reads and hands out responses until the connection is closed.
    pub(crate) async fn read(&self, socket: impl AsyncRead + Unpin) {
        let reason = self.read_all(socket).await;
        self.close(reason);
    }

    async fn read_all(&self, mut socket: impl AsyncRead + Unpin) -> ClientError {
        let mut buffer = Vec::new();
        loop {
            let mut start = 0;
            loop {
                let rest = buffer.get(start..).unwrap_or_default();
                match needed(rest, self.max_message) {
                    Ok(Some(length)) if length <= rest.len() => {
                        if let Some(reason) = self.wait_for_room().await {
                            return reason;
                        }
                        if let Err(error) = self.dispatch(rest.get(..length).unwrap_or_default()) {
                            return error;
                        }
                        start += length;
                    }
                    Ok(_) => break,
                    Err(error) => return ClientError::Protocol(error.to_string()),
                }
            }
            buffer.drain(..start);
            buffer.reserve(READ_SIZE);
            match socket.read_buf(&mut buffer).await {
                Ok(0) => return ClientError::closed(&io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(_) => {}
                Err(error) => return ClientError::closed(&error),
            }
        }
    }

    /// Waits until the consumers have room for a further message, or until the connection is closed for the returned
    /// reason.
    async fn wait_for_room(&self) -> Option<ClientError> {
        loop {
            {
                let state = self.lock();
                if state.closed.is_some() || state.inboxes.have_room() {
                    return state.closed.clone();
                }
            }
            self.wake_reader.notified().await;
        }
    }

    /// Hands one message to its operation.
    fn dispatch(&self, bytes: &[u8]) -> Result<(), ClientError> {
        let limits = DecodeLimits::default();
        let message = ResponseMessage::decode(bytes, &limits)
            .map_err(|fault| ClientError::Protocol(fault.diagnostic.to_owned()))?;
        let id = message.id;
        let (incoming, last) = incoming(&message);
        if id == MessageId::UNSOLICITED {
            return self.notify(incoming);
        }
        let mut state = self.lock();
        state.inboxes.deliver(id.value(), incoming, bytes.len(), last);
        Ok(())
    }

    fn notify(&self, incoming: Incoming) -> Result<(), ClientError> {
        let Incoming::Extended(notification) = incoming else {
            return Err(ClientError::Protocol("message ID 0 in an ordinary response".to_owned()));
        };
        let disconnect = notification.name.as_deref() == Some(NOTICE_OF_DISCONNECTION);
        let reason = format!("notice of disconnection: {}", notification.result);
        // If nobody reads the queue, it fills up. Later notifications are dropped then.
        let _ = self.lock().notifications.try_send(notification);
        if disconnect {
            return Err(ClientError::Closed { reason });
        }
        Ok(())
    }

    /// The state is consistent between calls, so a panic of another thread does not matter.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A consumer at an empty inbox, until it is dropped.
struct Waiting<'a> {
    connection: &'a Connection,
    id: MessageId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.connection.lock().inboxes.stop_waiting(self.id.value());
    }
}

impl State {
    fn check_open(&self) -> Result<(), ClientError> {
        match &self.closed {
            Some(reason) => Err(reason.clone()),
            None if self.closing => Err(ClientError::Closed {
                reason: "unbind was sent".to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// A message ID that is not in use.
    fn next_id(&mut self) -> MessageId {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.inboxes.contains(self.last_id) {
                return MessageId::new(self.last_id).unwrap_or_default();
            }
        }
    }
}

const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";
const READ_SIZE: usize = 16 * 1024;
