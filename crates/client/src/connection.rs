//! One connection: one task reads responses and hands them out, one task writes the gathered requests.

use std::{
    collections::HashMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, MessageId, Request, Response, ResponseMessage, frame::needed, message::encode_request,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{Notify, mpsc, watch},
};

use crate::{
    BindReply, Error, ExtendedReply, LdapResult, SearchEntry, SearchItem,
    reply::{owned_controls, text},
};

/// A message for one request.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Part of the answer to a search.
    Item(SearchItem),
    /// The result of a search, add, delete, modify, modify DN or compare.
    Done(LdapResult),
    Bind(BindReply),
    Extended(ExtendedReply),
}

/// State shared by the client, its two tasks and the operations under way.
#[derive(Debug)]
pub(crate) struct Connection {
    state: Mutex<State>,
    /// There is something to write, or the connection is closing.
    wake_writer: Notify,
    /// Becomes true when the connection is closed.
    is_closed: watch::Sender<bool>,
    /// Longest message accepted, in octets.
    max_message: usize,
}

#[derive(Debug)]
struct State {
    last_id: i32,
    /// Unbounded: a search that nobody reads must not block the responses of others.
    waiting: HashMap<i32, mpsc::UnboundedSender<Incoming>>,
    out: Vec<u8>,
    /// No further request is accepted. The content of `out` is still sent.
    closing: bool,
    closed: Option<Error>,
    notifications: mpsc::Sender<ExtendedReply>,
}

impl Connection {
    pub(crate) fn new(max_message: usize, notifications: mpsc::Sender<ExtendedReply>) -> Self {
        Self {
            state: Mutex::new(State {
                last_id: 0,
                waiting: HashMap::new(),
                out: Vec::new(),
                closing: false,
                closed: None,
                notifications,
            }),
            wake_writer: Notify::new(),
            is_closed: watch::Sender::new(false),
            max_message,
        }
    }

    /// Queues a request and returns the channel of its responses.
    pub(crate) fn send(
        &self,
        request: &Request<'_>,
        controls: &[&dyn EncodeControl],
    ) -> Result<(MessageId, mpsc::UnboundedReceiver<Incoming>), Error> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        state.check_open()?;
        let id = state.next_id();
        encode_request(&mut state.out, id, request, controls);
        if request.operation().response_tag().is_some() {
            state.waiting.insert(id.value(), sender);
        }
        state.closing = matches!(request, Request::Unbind);
        drop(state);
        self.wake_writer.notify_one();
        Ok((id, receiver))
    }

    /// Removes an operation. With `abandon` the server is told so (RFC 4511 §4.11).
    pub(crate) fn forget(&self, id: MessageId, abandon: bool) {
        let was_waiting = self.lock().waiting.remove(&id.value()).is_some();
        if abandon && was_waiting {
            // There is nothing to abandon on a closed connection.
            let _ = self.send(&Request::Abandon(id), &[]);
        }
    }

    /// Why the connection is closed.
    pub(crate) fn closed(&self) -> Option<Error> {
        self.lock().closed.clone()
    }

    fn close(&self, reason: Error) {
        let mut state = self.lock();
        state.closed.get_or_insert(reason);
        // Waiting operations see the end of their channels.
        state.waiting.clear();
        drop(state);
        self.is_closed.send_replace(true);
        self.wake_writer.notify_one();
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
            if let Err(error) = socket.write_all(&out).await {
                return self.close(Error::closed(&error));
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

    async fn read_all(&self, mut socket: impl AsyncRead + Unpin) -> Error {
        let mut buffer = Vec::new();
        loop {
            let mut start = 0;
            loop {
                let rest = buffer.get(start..).unwrap_or_default();
                match needed(rest, self.max_message) {
                    Ok(Some(length)) if length <= rest.len() => {
                        if let Err(error) = self.dispatch(rest.get(..length).unwrap_or_default()) {
                            return error;
                        }
                        start += length;
                    }
                    Ok(_) => break,
                    Err(error) => return Error::Protocol(error.to_string()),
                }
            }
            buffer.drain(..start);
            buffer.reserve(READ_SIZE);
            match socket.read_buf(&mut buffer).await {
                Ok(0) => return Error::closed(&io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(_) => {}
                Err(error) => return Error::closed(&error),
            }
        }
    }

    /// Hands one message to its operation.
    fn dispatch(&self, bytes: &[u8]) -> Result<(), Error> {
        let limits = DecodeLimits::default();
        let message =
            ResponseMessage::decode(bytes, &limits).map_err(|fault| Error::Protocol(fault.diagnostic.to_owned()))?;
        let id = message.id;
        let (incoming, last) = incoming(&message);
        if id == MessageId::UNSOLICITED {
            return self.notify(incoming);
        }
        let mut state = self.lock();
        let sender = if last {
            state.waiting.remove(&id.value())
        } else {
            state.waiting.get(&id.value()).cloned()
        };
        // Responses to abandoned operations may still arrive (RFC 4511 §4.11). They are dropped.
        if let Some(sender) = sender {
            let _ = sender.send(incoming);
        }
        Ok(())
    }

    fn notify(&self, incoming: Incoming) -> Result<(), Error> {
        let Incoming::Extended(notification) = incoming else {
            return Err(Error::Protocol("message ID 0 in an ordinary response".to_owned()));
        };
        let disconnect = notification.name.as_deref() == Some(NOTICE_OF_DISCONNECTION);
        let reason = format!("notice of disconnection: {}", notification.result);
        // If nobody reads the queue, it fills up. Later notifications are dropped then.
        let _ = self.lock().notifications.try_send(notification);
        if disconnect {
            return Err(Error::Closed { reason });
        }
        Ok(())
    }

    /// The state is consistent between calls, so a panic of another thread does not matter.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check_open(&self) -> Result<(), Error> {
        match &self.closed {
            Some(reason) => Err(reason.clone()),
            None if self.closing => Err(Error::Closed {
                reason: "unbind was sent".to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// A message ID that is not in use.
    fn next_id(&mut self) -> MessageId {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.waiting.contains_key(&self.last_id) {
                return MessageId::new(self.last_id).unwrap_or_default();
            }
        }
    }
}

/// The response in owned form, and whether it is the last one to its request.
fn incoming(message: &ResponseMessage<'_>) -> (Incoming, bool) {
    let controls = &message.controls;
    let item = match &message.operation {
        Response::Bind(response) => {
            let reply = BindReply {
                result: LdapResult::new(&response.result, controls),
                server_sasl_credentials: response.server_sasl_credentials.map(<[u8]>::to_vec),
            };
            return (Incoming::Bind(reply), true);
        }
        Response::Extended(response) => {
            let reply = ExtendedReply {
                result: LdapResult::new(&response.result, controls),
                name: response.name.map(text),
                value: response.value.map(<[u8]>::to_vec),
            };
            return (Incoming::Extended(reply), true);
        }
        Response::Done(_, result) => return (Incoming::Done(LdapResult::new(result, controls)), true),
        Response::SearchEntry(entry) => SearchItem::Entry(SearchEntry::new(entry, controls)),
        Response::SearchReference(uris) => SearchItem::Reference {
            uris: uris.iter().map(text).collect(),
            controls: owned_controls(controls),
        },
        Response::Intermediate(response) => SearchItem::Intermediate {
            name: response.name.map(text),
            value: response.value.map(<[u8]>::to_vec),
            controls: owned_controls(controls),
        },
    };
    (Incoming::Item(item), false)
}

const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";
const READ_SIZE: usize = 16 * 1024;
