//! A client that connects for each of its sessions: StartTLS if that is asked for, the workload's requests one after
//! the other, unbind. A session is measured as one request, from the connection to the last answer.

use std::{io::ErrorKind, sync::Arc};

use ironbark_ldap_proto::{Request, extended::start_tls};
use mio::{Interest, Registry, Token, unix::SourceFd};

use super::{
    client::{Client, Lost, Received, Sent, read_once},
    measures::{Answered, Measures},
};
use crate::{
    target::{SessionProtection, SessionStream, SessionTarget},
    wire::{FirstMessage, RequestSlot, encode, next_answer},
    workload::{Next, RequestClass, Requests},
};

/// A client of a worker.
pub(super) struct Sessions {
    target: SessionTarget,
    requests: Box<dyn Requests>,
    registry: Arc<Registry>,
    token: Token,
    open: Option<Session>,
    /// Why the last session could not begin.
    failure: Option<Lost>,
    /// Requests that are not sent yet, and an answer whose rest has not arrived. They are empty between sessions.
    output: Vec<u8>,
    input: Vec<u8>,
}

/// The session that is under way.
struct Session {
    stream: Box<dyn SessionStream>,
    start_ns: u64,
    entries: u32,
    /// What the next result answers.
    asked: Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    StartTls,
    /// A request of the workload, of this kind.
    Request(u8),
}

impl Sessions {
    /// Sessions of a workload. Their sockets are registered by `token`.
    pub(super) fn new(
        target: SessionTarget,
        requests: Box<dyn Requests>,
        registry: Arc<Registry>,
        token: Token,
    ) -> Self {
        Self {
            target,
            requests,
            registry,
            token,
            open: None,
            failure: None,
            output: Vec::new(),
            input: Vec::new(),
        }
    }

    /// Connects, with the first request in the output buffer.
    fn begin(&mut self, start_ns: u64) -> Result<Session, Lost> {
        let stream = self.target.open().map_err(|failure| Lost(failure.to_string()))?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        // Closing the socket ends the registration.
        let registered = self
            .registry
            .register(&mut SourceFd(&stream.as_raw_fd()), self.token, interest);
        registered.map_err(|error| Lost(error.to_string()))?;
        let asked = match self.target.protection {
            SessionProtection::StartTls => {
                let request = Request::Extended(start_tls::request());
                encode(&mut self.output, RequestSlot::FIRST, &request);
                Asked::StartTls
            }
            SessionProtection::None | SessionProtection::Ldaps => {
                let next = self.requests.next(RequestSlot::FIRST, &mut self.output);
                let Next::Sent(kind) = next else {
                    return Err(Lost("a session without a request".to_owned()));
                };
                Asked::Request(kind)
            }
        };
        Ok(Session {
            stream,
            start_ns,
            entries: 0,
            asked,
        })
    }

    /// Goes on after the answer to a request. Returns the outcome when that was the last one.
    fn answered(&mut self, code: u32) -> Result<Option<Outcome>, Lost> {
        let Some(session) = &mut self.open else { return Ok(None) };
        match session.asked {
            Asked::StartTls if code == SUCCESS => {
                if !self.input.is_empty() {
                    return Err(Lost("octets between StartTLS and the handshake".to_owned()));
                }
                session
                    .stream
                    .begin_tls()
                    .map_err(|failure| Lost(failure.to_string()))?;
            }
            Asked::StartTls => return Ok(Some(self.end(code))),
            Asked::Request(kind) => {
                self.requests.answered(RequestSlot::FIRST, kind, code);
                if code != SUCCESS {
                    return Ok(Some(self.end(code)));
                }
            }
        }
        match self.requests.next(RequestSlot::FIRST, &mut self.output) {
            Next::Sent(kind) => {
                session.asked = Asked::Request(kind);
                Ok(None)
            }
            Next::Wait | Next::End => Ok(Some(self.end(code))),
        }
    }

    /// Unbinds and closes.
    fn end(&mut self, code: u32) -> Outcome {
        let mut outcome = Outcome {
            code,
            ..Outcome::default()
        };
        self.input.clear();
        self.output.clear();
        if let Some(mut session) = self.open.take() {
            encode(&mut self.output, RequestSlot::FIRST, &Request::Unbind);
            // Closing tells the server the same, so a lost unbind is no fault.
            let _ = session.stream.write(&self.output).and_then(|_| session.stream.flush());
            self.output.clear();
            outcome.start_ns = session.start_ns;
            outcome.entries = session.entries;
            outcome.has_resumed_tls = session.stream.has_resumed_tls();
        }
        outcome
    }

    /// The length and the content of the first answer, once all of it is there.
    fn next(&mut self) -> Result<Option<FirstMessage>, Lost> {
        let first = next_answer(&self.input).map_err(|error| Lost(error.to_string()))?;
        let (id, length) = match first {
            FirstMessage::Incomplete => return Ok(None),
            FirstMessage::Result { id: 0, code, .. } => {
                return Err(Lost(format!("notice of disconnection with result code {code}")));
            }
            FirstMessage::Part { id, length, .. } | FirstMessage::Result { id, length, .. } => (id, length),
        };
        if RequestSlot::of_message_id(id) != Some(RequestSlot::FIRST) {
            return Err(Lost("an answer to no request of ours".to_owned()));
        }
        if self.input.len() < length {
            return Ok(None);
        }
        self.input.drain(..length);
        Ok(Some(first))
    }
}

/// A session that has ended.
#[derive(Default)]
struct Outcome {
    code: u32,
    start_ns: u64,
    entries: u32,
    has_resumed_tls: bool,
}

impl Client for Sessions {
    fn under_way(&self) -> usize {
        usize::from(self.open.is_some() || self.failure.is_some())
    }

    fn has_ended(&self) -> bool {
        false
    }

    fn has_room(&self) -> bool {
        self.under_way() == 0
    }

    fn send(&mut self, start_ns: u64) -> Sent {
        if !self.has_room() {
            return Sent::NotNow;
        }
        match self.begin(start_ns) {
            Ok(session) => self.open = Some(session),
            // It is reported by the write that follows.
            Err(lost) => self.failure = Some(lost),
        }
        Sent::Yes
    }

    fn flush(&mut self) -> Result<(), Lost> {
        if let Some(lost) = &self.failure {
            return Err(Lost(lost.0.clone()));
        }
        let Some(session) = &mut self.open else { return Ok(()) };
        while !self.output.is_empty() {
            match session.stream.write(&self.output) {
                Ok(0) => return Err(Lost("nothing can be written".to_owned())),
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Lost(error.to_string())),
            }
        }
        loop {
            return match session.stream.flush() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(Lost(error.to_string())),
                // The poll tells when there is room for the rest.
                _ => Ok(()),
            };
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Lost> {
        let Some(session) = &mut self.open else { return Ok(None) };
        read_once(&mut session.stream, buffer)
    }

    fn take(
        &mut self,
        octets: &[u8],
        now_ns: u64,
        kinds: &[RequestClass],
        measures: &mut Measures,
    ) -> Result<Received, Lost> {
        let mut received = Received::default();
        self.input.extend_from_slice(octets);
        while self.open.is_some()
            && let Some(message) = self.next()?
        {
            let code = match message {
                FirstMessage::Result { code, .. } => code,
                FirstMessage::Part { is_entry, .. } => {
                    received.entries += u64::from(is_entry);
                    if let Some(session) = &mut self.open {
                        session.entries += u32::from(is_entry);
                    }
                    continue;
                }
                FirstMessage::Incomplete => break,
            };
            let Some(outcome) = self.answered(code)? else { continue };
            let answered = Answered {
                // The second kind, if there is one, counts sessions with resumed TLS.
                kind: u8::from(outcome.has_resumed_tls && kinds.len() > 1),
                start_ns: outcome.start_ns,
                code: outcome.code,
                entries: outcome.entries,
            };
            measures.answered(now_ns, answered, kinds);
            received.answers += 1;
        }
        measures.received(now_ns, received.entries, u64::try_from(octets.len()).unwrap_or(0));
        Ok(received)
    }
}

const SUCCESS: u32 = 0;

#[cfg(test)]
mod tests;
