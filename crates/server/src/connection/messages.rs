//! Frames the client's messages, and starts as many as limits allow.

use std::{
    sync::atomic::Ordering,
    task::{Context, Poll},
};

use ironbark_directory::{RequestBatch, Started, Submitted};
use ironbark_ldap_proto::FrameError;
use ironbark_model::ResultCode;

use super::{Connection, State, Waiting, held::HeldRequest, increment};
use crate::reactor::Work;

impl Connection {
    /// Starts messages that were received earlier. True: more may be started at once.
    pub(super) fn start_buffered(&mut self, work: &mut Work) -> bool {
        if self.input.is_empty() {
            return false;
        }
        let mut input = std::mem::take(&mut self.input);
        let (consumed, goes_on) = self.start_messages(work, input.bytes());
        input.consume(consumed);
        if self.state == State::Open {
            self.input = input;
        }
        goes_on
    }

    /// Starts messages that were just read into the reactor's buffer, or into our own.
    pub(super) fn start_received(&mut self, work: &mut Work) -> bool {
        let received = self.input.take_received();
        if received == 0 {
            return self.start_buffered(work);
        }
        let buffer = std::mem::take(&mut work.input);
        let bytes = buffer.get(..received).unwrap_or_default();
        let (consumed, goes_on) = self.start_messages(work, bytes);
        if self.state == State::Open {
            self.input.keep(bytes.get(consumed..).unwrap_or_default());
        }
        work.input = buffer;
        goes_on
    }

    /// Starts as many complete messages as limits allow. Returns the bytes used, and whether it stopped only to let
    /// other connections go first.
    fn start_messages(&mut self, work: &mut Work, bytes: &[u8]) -> (usize, bool) {
        let mut consumed = 0;
        let mut batch = work.worker.batch(self.held_since_micros.take());
        self.is_held = false;
        let mut looked_at = 0;
        for _ in 0..MAX_MESSAGES_PER_TURN {
            let rest = bytes.get(consumed..).unwrap_or_default();
            if rest.is_empty() || !self.may_start() {
                self.is_held = !rest.is_empty();
                self.held_since_micros = self.is_held.then(|| batch.arrived_micros());
                return (consumed, false);
            }
            match ironbark_ldap_proto::frame(rest, self.message_limit()) {
                Ok(Some(length)) => {
                    let message = rest.get(..length).unwrap_or_default();
                    if self.must_wait(message) {
                        self.is_held = true;
                        self.held_since_micros = Some(batch.arrived_micros());
                        return (consumed, false);
                    }
                    if looked_at == 0 {
                        looked_at = batch.look_ahead(rest, self.message_limit());
                    }
                    looked_at -= 1;
                    self.start(&mut batch, message);
                    consumed += length;
                    if batch.is_used_up() {
                        return (consumed, true);
                    }
                }
                Ok(None) => return (consumed, false),
                Err(error) => {
                    self.refuse(error);
                    return (consumed, false);
                }
            }
        }
        self.held_since_micros = (consumed < bytes.len()).then(|| batch.arrived_micros());
        (consumed, true)
    }

    fn start(&mut self, batch: &mut RequestBatch<'_>, message: &[u8]) {
        increment(&self.status.received);
        // A search of cn=Monitor counts itself.
        let executing = u32::try_from(self.under_way()).unwrap_or(u32::MAX).saturating_add(1);
        self.status.executing.store(executing, Ordering::Relaxed);
        let before = self.output.waiting();
        let started = batch.start(&mut self.session, message, self.output.buffer());
        self.take_up(started, before);
    }

    /// Takes over a request that was begun. `before`: octets of output before its begin.
    pub(super) fn take_up(&mut self, started: Started, before: usize) {
        let has_produced = self.output.waiting() != before;
        match started {
            // Abandon has no response.
            Started::Answered => self.results += u64::from(has_produced),
            Started::Search(run) => self.keep(run),
            Started::Submitted(Submitted {
                receiver,
                blocks_connection,
            }) => {
                self.is_blocked |= blocks_connection;
                self.submitted.push(Waiting {
                    receiver,
                    blocks: blocks_connection,
                });
            }
            Started::Held(request) => {
                let (held, until) = *request;
                self.is_blocked |= held.blocks_connection;
                self.held.push(HeldRequest::new(held, until));
            }
            Started::StartTls => {
                self.results += 1;
                self.starts_tls = true;
            }
            Started::Disconnect(reason) => {
                self.results += u64::from(has_produced);
                self.close(reason);
            }
        }
    }

    /// Continues requests whose decision has come.
    pub(super) fn poll_held(&mut self, work: &mut Work, cx: &mut Context<'_>) {
        let mut place = 0;
        while self.state == State::Open
            && let Some(request) = self.held.get_mut(place)
        {
            let Poll::Ready(decision) = request.poll(cx) else {
                place += 1;
                continue;
            };
            let held = self.held.remove(place).into_held();
            if held.blocks_connection {
                self.is_blocked = false;
            }
            self.touch();
            let before = self.output.waiting();
            let started = work
                .worker
                .resume(&mut self.session, held, decision, self.output.buffer());
            self.take_up(started, before);
        }
    }

    /// Refuses bytes that cannot be framed: no LDAP message, or one over the limit.
    fn refuse(&mut self, error: FrameError) {
        let number = self.status.number;
        tracing::debug!(target: "trace", "conn={number} fd={} refused: {error}", self.stream.descriptor());
        self.notify(ResultCode::PROTOCOL_ERROR, &error.to_string());
        self.close("connection lost");
    }

    pub(super) fn may_start(&self) -> bool {
        self.state == State::Open
            && !self.is_blocked
            && !self.starts_tls
            && !self.session.has_layer_waiting()
            && !self.pause.is_under_way()
            && self.output.waiting() < START_BELOW_BYTES
            && self.under_way()
                < self
                    .reactor
                    .limits()
                    .operations
                    .of(self.session.identity.is_anonymous())
    }

    pub(super) fn message_limit(&self) -> usize {
        self.reactor
            .limits()
            .message_bytes
            .of(self.session.identity.is_anonymous())
    }
}

/// Messages are started only while less output than this waits for the client.
const START_BELOW_BYTES: usize = 256 << 10;
/// Messages of one turn. Then other connections have their turn.
const MAX_MESSAGES_PER_TURN: usize = 128;
