//! The reactor's way to one of its connections: it asks the connection to close, and wakes it.

use std::{
    cell::{Cell, RefCell},
    task::{Context, Waker},
};

use ironbark_runtime::MonotonicTime;

/// The reason why the reactor wants a connection closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CloseRequest {
    /// The server is ending: finish what is under way, send a notice, close.
    Shutdown,
    /// `idletimeout`.
    Idle,
    /// `writetimeout`, or a client that does not read the last message.
    WriteTimeout,
    /// The server takes no clients for a while.
    Suspended,
    /// The server holds too much for all clients together.
    Overload,
}

/// Shared by a connection and its reactor, which run on one thread.
#[derive(Debug)]
pub(crate) struct Handle {
    request: Cell<Option<CloseRequest>>,
    waker: RefCell<Option<Waker>>,
    /// Another configuration has come into force, and it is to let go of the former one.
    lets_go: Cell<bool>,
    /// Whether it keeps something between requests.
    pub(crate) keeps_transaction: Cell<bool>,
    /// Time of the last receipt or the last finished operation.
    pub(crate) active: Cell<MonotonicTime>,
    /// The client has read nothing of its waiting output since this time.
    pub(crate) blocked_since: Cell<Option<MonotonicTime>>,
    /// Bytes of memory that the connection holds.
    pub(crate) held: Cell<usize>,
    /// Whether operations are under way: such a connection is not idle.
    pub(crate) is_busy: Cell<bool>,
    /// Whether only the last bytes remain to be sent.
    pub(crate) is_closing: Cell<bool>,
}

impl Handle {
    pub(crate) fn new(now: MonotonicTime) -> Self {
        Self {
            request: Cell::new(None),
            waker: RefCell::new(None),
            lets_go: Cell::new(false),
            keeps_transaction: Cell::new(false),
            active: Cell::new(now),
            blocked_since: Cell::new(None),
            held: Cell::new(0),
            is_busy: Cell::new(false),
            is_closing: Cell::new(false),
        }
    }

    /// Asks for the connection to be closed.
    pub(crate) fn close(&self, request: CloseRequest) {
        self.request.set(Some(request));
        self.wake();
    }

    /// Asks the connection to let go of configurations that are no longer in force.
    pub(crate) fn let_go(&self) {
        if self.keeps_transaction.get() || self.is_busy.get() {
            self.lets_go.set(true);
            self.wake();
        }
    }

    /// Whether that was asked for since the last call.
    pub(crate) fn take_let_go(&self) -> bool {
        self.lets_go.take()
    }

    fn wake(&self) {
        let waker = self.waker.borrow().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The time when the client last read or sent something.
    pub(crate) fn stalled_since(&self) -> MonotonicTime {
        self.blocked_since.get().unwrap_or(self.active.get())
    }

    /// The request that came since the last call.
    pub(crate) fn take_request(&self) -> Option<CloseRequest> {
        self.request.take()
    }

    /// Remembers the task to wake.
    pub(crate) fn remember(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }
}
