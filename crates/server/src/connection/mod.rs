//! One connection: it reads messages, starts operations and sends their output. It is a future on its reactor's thread.
//!
//! - All complete messages that have been received are started before one write.
//! - Responses that become ready in the same round of the reactor are sent together, at its end (`round.rs`).
//! - Buffers belong to the reactor. A connection holds memory only for an incomplete message and for output that the
//!   client has not read. An idle connection holds none.
//! - An unfinished search makes one step per turn, and none while `STEP_BELOW_BYTES` wait for the client. Messages are
//!   still read meanwhile, so that Abandon and Cancel take effect, until `START_BELOW_BYTES` wait.
//! - The memory of all connections together has a limit too. Beyond it, the connections that have stalled for longest
//!   are closed.
//! - `conn_max_pending[_auth]` bounds the operations under way. slapd would end the session; here, further messages
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

/// The end of a connection's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// There is more to do at once. Other connections come first.
    Yield,
    /// The connection has ended.
    Closed,
}

/// A connection. Dropping it stops all its operations.
pub(crate) struct Connection {
    reactor: Rc<Reactor>,
    stream: Stream,
    handle: Rc<Handle>,
    status: Arc<Status>,
    session: Session,
    input: Input,
    output: Output,
    /// Unfinished searches, in the order of their next steps.
    searches: VecDeque<Box<SearchRun>>,
    submitted: FuturesUnordered<Waiting>,
    /// Requests that wait for an overlay's decision.
    held: Vec<HeldRequest>,
    /// Searches that wait for entries from elsewhere.
    waiting: FuturesUnordered<WaitingSearch>,
    /// The search whose step runs elsewhere.
    handed_over: Option<HandedOver>,
    /// A bind, or another request that must be alone, is under way: nothing else is started.
    is_blocked: bool,
    /// StartTLS has been answered. The handshake begins when the answer has left; nothing is started before that.
    starts_tls: bool,
    /// A limit holds back received messages.
    is_held: bool,
    /// Arrival of the messages that are held back, in monotonic microseconds.
    held_since_micros: Option<u64>,
    /// The time when output is sent.
    sending: Sending,
    state: State,
    pause: Pause,
    /// Results and notices that are not yet in the statistics. The directory counts search entries itself.
    results: u64,
    /// Fields are dropped in this order: the place is given back after the descriptor.
    _place: OwnedSemaphorePermit,
    _source: Option<SourcePlace>,
}

/// The stage of a connection's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Messages are read and started.
    Open,
    /// Nothing more is started. Submitted operations are finished and answered; then a notice of disconnection is sent.
    Draining,
    /// The last bytes are being sent. The text is slapd's reason; empty: none.
    Closing(&'static str),
    /// Nothing more is sent.
    Closed(&'static str),
}

/// The time when a connection's output leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sending {
    /// As soon as the client takes it.
    Now,
    /// At the end of the round.
    WithRound,
    /// With the entries of the search's next step.
    WithNextStep,
}

impl Connection {
    pub(crate) fn new(
        reactor: Rc<Reactor>,
        stream: Stream,
        place: OwnedSemaphorePermit,
        source: Option<SourcePlace>,
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

    /// Runs the connection to its end.
    pub(crate) async fn run(mut self) {
        while std::future::poll_fn(|cx| self.poll_turn(cx)).await == Turn::Yield {
            // The reactor looks at the sockets of all connections before this continues.
            self.reactor.pass_on();
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
        if self.handle.take_let_go() {
            self.let_go(work);
        }
        // Output that the client takes now makes room for more.
        if self.sending != Sending::WithNextStep {
            self.flush(cx);
        }
        let takes_all = self.output.is_empty();
        let gathers = self.step_search(work);
        let mut goes_on = self.start_buffered(work);
        let mut has_read = false;
        loop {
            // These come after the start of messages, so that an operation just submitted can wake the task.
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
            // Messages that a limit held back may be started once the client has read enough. Nothing else would wake
            // the task for them.
            if goes_on || (self.is_held && self.may_start()) {
                return Poll::Ready(Turn::Yield);
            }
            let rest = if self.can_step() {
                Poll::Ready(Turn::Yield)
            } else {
                Poll::Pending
            };
            // A running search does not prevent reading, and reading does not prevent its next step.
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

    /// Adds to the counters of the server, once per turn.
    fn count(&mut self, shard: &Shard) {
        shard.record_output(self.output.take_counted(), std::mem::take(&mut self.results));
    }

    /// Takes the results of submitted operations.
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
                    // The writer is gone; the outcome of the operation is unknown.
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

    /// Whether there is a little output, and nothing else to do for this connection.
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

    /// Publishes the connection's state for timeouts and cn=Monitor.
    fn publish(&self) {
        let (handle, status) = (&self.handle, &self.status);
        // Output that is held back for the round is not due to the client.
        let output = if self.sending == Sending::Now {
            self.output.capacity()
        } else {
            0
        };
        let held: usize = self.held.iter().map(HeldRequest::octets).sum();
        let kept = self.input.capacity() + self.held_by_searches() + held;
        self.reactor.hold(handle, kept + output);
        handle.is_busy.set(self.under_way() != 0);
        handle.keeps_transaction.set(self.session.keeps_transaction());
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

/// A submitted operation.
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

/// More output than this is sent at once.
const HOLD_BACK_BELOW_BYTES: usize = 64 << 10;
