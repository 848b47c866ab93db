//! One connection: reads messages, starts operations, sends what they produce. A future on its reactor's thread.
//!
//! - All complete messages that have been received are started before one write.
//! - What is ready at the same time is answered at the same time: responses wait for the end of the reactor's round
//!   (`round.rs`).
//! - Buffers belong to the reactor. A connection holds memory only for a message that has not arrived whole and for
//!   bytes that the client has not taken; an idle one holds none.
//! - A search that goes on is stepped once a turn, and not at all while `STEP_BELOW_BYTES` wait for the client.
//!   Messages go on being read meanwhile, so that Abandon and Cancel are heard, until `START_BELOW_BYTES` wait.
//! - What all connections hold together has a limit too, past which those without progress for longest are closed.
//! - `conn_max_pending[_auth]` bounds the operations under way. Where slapd would end the session, further messages
//!   wait in the socket.

mod end;
mod handle;
mod held;
mod input;
mod layer;
mod messages;
mod output;
mod pause;
mod searches;
mod secure;
mod status;
mod stream;
mod waiting_search;

use std::{
    collections::VecDeque,
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use futures_util::stream::{FuturesUnordered, Stream as _};
use ironbark_directory::{Completion, HandedOver, SearchRun, Session, Shard, Strength};
use ironbark_model::ResultCode;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

pub(crate) use self::output::SpareBuffers;
pub(crate) use self::{
    handle::{CloseRequest, Handle},
    status::{Registry, Status, increment},
    stream::{Socket, Stream},
};
use self::{held::HeldRequest, input::Input, output::Output, pause::Pause, waiting_search::WaitingSearch};
use crate::{
    reactor::{Reactor, Work},
    sources::SourcePlace,
};

/// What a turn of a connection ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// There is more to do at once; others first.
    Yield,
    /// The connection is over.
    Closed,
}

/// A connection. Dropping it stops everything that it has under way.
pub(crate) struct Connection {
    reactor: Rc<Reactor>,
    stream: Stream,
    handle: Rc<Handle>,
    status: Arc<Status>,
    session: Session,
    input: Input,
    output: Output,
    /// Searches that go on, the next one to be stepped first.
    searches: VecDeque<Box<SearchRun>>,
    submitted: FuturesUnordered<Waiting>,
    /// Requests that an overlay has yet to decide about.
    held: Vec<HeldRequest>,
    /// Searches of which nothing can be done before something comes from elsewhere.
    waiting: FuturesUnordered<WaitingSearch>,
    /// The search of which a step is taken elsewhere.
    handed_over: Option<HandedOver>,
    /// A bind is under way: nothing else is started.
    is_blocked: bool,
    /// StartTLS has been answered: the handshake begins when the answer has left, and nothing is started before.
    starts_tls: bool,
    /// Messages have been received that a limit keeps from being started.
    is_held: bool,
    /// When what is held arrived, in monotonic microseconds.
    held_since_micros: Option<u64>,
    /// When what is produced is sent.
    sending: Sending,
    state: State,
    pause: Pause,
    /// Results and notices produced since the statistics were last told; search entries are counted by the directory.
    results: u64,
    /// Given back after the descriptor: fields are dropped in this order.
    _place: OwnedSemaphorePermit,
    _source: Option<SourcePlace>,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Messages are read and started.
    Open,
    /// Nothing is started any more; what is submitted is finished and answered, then a notice of disconnection is sent.
    Draining,
    /// The last bytes are being sent. The text is slapd's reason, empty for none.
    Closing(&'static str),
    /// Nothing more can be sent or need be.
    Closed(&'static str),
}

/// When a connection's responses leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sending {
    /// As soon as the client takes them.
    Now,
    /// At the end of the round.
    WithRound,
    /// With the entries of the search's next step.
    WithNextStep,
}

impl Connection {
    pub(crate) fn new(
        reactor: Rc<Reactor>,
        (stream, (place, source)): (Stream, (OwnedSemaphorePermit, Option<SourcePlace>)),
        handle: Rc<Handle>,
        status: Arc<Status>,
    ) -> Self {
        let mut session = Session::new(status.number, Arc::clone(&status.peer));
        if status.peer.address.is_none() {
            session.strength = Strength::of_transport(reactor.local_ssf());
        }
        session.is_tls = stream.is_shaking_hands();
        Self {
            reactor,
            stream,
            handle,
            status,
            session,
            input: Input::default(),
            output: Output::default(),
            searches: VecDeque::new(),
            waiting: FuturesUnordered::new(),
            submitted: FuturesUnordered::new(),
            held: Vec::new(),
            handed_over: None,
            is_blocked: false,
            starts_tls: false,
            is_held: false,
            held_since_micros: None,
            sending: Sending::Now,
            state: State::Open,
            pause: Pause::default(),
            results: 0,
            _place: place,
            _source: source,
        }
    }

    /// Lives until the connection is over.
    pub(crate) async fn run(mut self) {
        while std::future::poll_fn(|cx| self.poll_turn(cx)).await == Turn::Yield {
            // Goes on after the sockets of all connections have been looked at.
            self.reactor.round().release();
            tokio::task::yield_now().await;
        }
    }

    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        let reactor = Rc::clone(&self.reactor);
        let mut work = reactor.work();
        self.handle.remember(cx);
        self.output.borrow(&mut work.spare_outputs);
        let turn = self.poll_work(&mut work, cx);
        self.count(work.worker.shard());
        self.output.give_back(&mut work.spare_outputs);
        self.publish();
        turn
    }

    fn poll_work(&mut self, work: &mut Work, cx: &mut Context<'_>) -> Poll<Turn> {
        self.obey_request();
        // What the client can take now makes room for more.
        if self.sending != Sending::WithNextStep {
            self.flush(cx);
        }
        let takes_all = self.output.is_empty();
        let gathers = self.step_search(work);
        let mut goes_on = self.start_buffered(work);
        let mut has_read = false;
        loop {
            // After starting, so that what was handed over just now can wake the task.
            self.poll_held(work, cx);
            self.poll_completions(work, cx);
            self.poll_handed_over(work, cx);
            self.poll_waiting(cx);
            self.pause.poll(cx);
            self.drain_if_asked();
            self.sending = if takes_all && !goes_on && self.may_hold_back() && self.reactor.round().hold_back(cx) {
                Sending::WithRound
            } else if gathers && self.can_step() {
                Sending::WithNextStep
            } else {
                self.flush(cx);
                Sending::Now
            };
            self.begin_tls();
            self.begin_layer();
            if self.has_ended(work, cx) {
                return Poll::Ready(Turn::Closed);
            }
            // What was held may be started once the client has taken what was in the way: nothing else would wake the
            // task for it.
            if goes_on || (self.is_held && self.may_start()) {
                return Poll::Ready(Turn::Yield);
            }
            let rest = if self.can_step() {
                Poll::Ready(Turn::Yield)
            } else {
                Poll::Pending
            };
            // Searches do not keep the connection from being read, nor the other way round.
            if !self.may_start() || (has_read && rest.is_ready()) {
                return rest;
            }
            let limit = self.message_limit();
            let was_shaking_hands = self.stream.is_shaking_hands();
            let read = self.input.poll_read(&mut self.stream, &mut work.input, limit, cx);
            self.secure();
            match read {
                Poll::Pending => return rest,
                Poll::Ready(Ok(1..)) => {
                    has_read = true;
                    increment(&self.status.reads);
                    self.touch();
                    goes_on = self.start_received(work);
                }
                Poll::Ready(Err(error)) if was_shaking_hands => self.lose_handshake(&error),
                Poll::Ready(Ok(0) | Err(_)) => self.lose("connection lost"),
            }
        }
    }

    /// Brings the counters of the server up to date, once a turn.
    fn count(&mut self, shard: &Shard) {
        shard.record_output(self.output.take_counted(), std::mem::take(&mut self.results));
    }

    /// Takes the results of operations that were submitted.
    fn poll_completions(&mut self, work: &mut Work, cx: &mut Context<'_>) {
        while let Poll::Ready(Some((blocks, completion))) = Pin::new(&mut self.submitted).poll_next(cx) {
            if blocks {
                self.is_blocked = false;
            }
            self.touch();
            match completion {
                _ if !matches!(self.state, State::Open | State::Draining) => {}
                Ok(completion) => {
                    let before = self.output.waiting();
                    work.worker.finish(&mut self.session, completion, self.output.buffer());
                    self.results += u64::from(self.output.waiting() != before);
                }
                Err(oneshot::error::RecvError { .. }) => {
                    // The writer is gone; nobody knows what became of the operation.
                    tracing::error!(target: "any", "conn={} an operation was lost, closing", self.status.number);
                    self.notify(ResultCode::OTHER, "internal error");
                    self.close("internal error");
                }
            }
        }
    }

    fn flush(&mut self, cx: &mut Context<'_>) {
        let was_empty = self.output.is_empty();
        match self.output.poll_flush(&mut self.stream, cx) {
            Ok(true) => self.handle.blocked_since.set(None),
            Ok(false) => {
                if was_empty || self.handle.blocked_since.get().is_none() || self.output.take_progress() {
                    self.handle
                        .blocked_since
                        .set(Some(self.reactor.clock().coarse_monotonic()));
                    increment(&self.status.write_waits);
                }
            }
            Err(_) => self.lose("connection lost"),
        }
    }

    fn under_way(&self) -> usize {
        let here = self.searches.len() + usize::from(self.handed_over.is_some());
        here + self.waiting.len() + self.submitted.len() + self.held.len()
    }

    /// Whether there are responses, and few, and nothing else to do for this connection.
    fn may_hold_back(&self) -> bool {
        self.state == State::Open
            && !self.output.is_empty()
            && self.output.waiting() < HOLD_BACK_BELOW_BYTES
            && self.searches.is_empty()
            && !self.starts_tls
            && !self.session.has_layer_waiting()
            && !self.is_held
    }

    fn touch(&self) {
        let clock = self.reactor.clock();
        self.handle.active.set(clock.coarse_monotonic());
        self.status
            .active
            .store(clock.coarse_now().unix_seconds(), Ordering::Relaxed);
    }

    /// Tells timeouts and cn=Monitor how things are.
    fn publish(&self) {
        let (handle, status) = (&self.handle, &self.status);
        // What is held back for a moment is no matter of the client's.
        let output = if self.sending == Sending::Now {
            self.output.capacity()
        } else {
            0
        };
        let held: usize = self.held.iter().map(HeldRequest::octets).sum();
        let kept = self.input.capacity() + self.held_by_searches() + held;
        self.reactor.hold(handle, kept + output);
        handle.is_busy.set(self.under_way() != 0);
        handle.is_closing.set(matches!(self.state, State::Closing(_)));
        status
            .executing
            .store(u32::try_from(self.under_way()).unwrap_or(u32::MAX), Ordering::Relaxed);
        status
            .pending
            .store(!self.input.is_empty() && !self.may_start(), Ordering::Relaxed);
        status.is_writing.store(
            self.sending == Sending::Now && !self.output.is_empty(),
            Ordering::Relaxed,
        );
        let protocol = self.session.bound_version.unwrap_or(0);
        if status.protocol.load(Ordering::Relaxed) != protocol {
            status.protocol.store(protocol, Ordering::Relaxed);
        }
        if !self.session.identity.is_anonymous() || status.has_identity() {
            status.set_identity(&self.session.identity);
        }
    }
}

/// An operation that was handed over.
struct Waiting {
    receiver: oneshot::Receiver<Completion>,
    blocks: bool,
}

impl Future for Waiting {
    type Output = (bool, Result<Completion, oneshot::error::RecvError>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let blocks = self.blocks;
        Pin::new(&mut self.receiver)
            .poll(cx)
            .map(|completion| (blocks, completion))
    }
}

/// More than this is sent at once.
const HOLD_BACK_BELOW_BYTES: usize = 64 << 10;
