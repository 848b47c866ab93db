//! How an operation is given up, and what else decides whether it may go on: writes in a sequence, a password that must
//! be changed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

/// Writes of which none is executed behind one that was refused: a file of changes that ends at its first error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence(Option<Arc<AtomicU64>>);

impl Sequence {
    /// One that ends at the first refusal.
    pub(crate) fn kept() -> Self {
        Self(Some(Arc::new(AtomicU64::new(u64::MAX))))
    }

    /// Whether writes have to be executed in their order.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// An operation was refused.
    pub(crate) fn refuse(&self, operation: u64) {
        if let Some(first) = &self.0 {
            first.fetch_min(operation, Ordering::AcqRel);
        }
    }

    /// Whether an operation before this one was refused.
    pub(crate) fn has_ended_before(&self, operation: u64) -> bool {
        let first = self.0.as_ref().map(|first| first.load(Ordering::Acquire));
        first.is_some_and(|first| operation > first)
    }
}

/// Set while a connection may do no more than change its password, as the password policy wants it. Each bind begins
/// with a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restriction(Option<Arc<AtomicBool>>);

impl Restriction {
    /// One that can be set.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether only the password may be changed.
    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    /// Restricts the connection, or lets it go.
    pub(crate) fn set(&self, holds: bool) {
        if let Some(flag) = &self.0 {
            flag.store(holds, Ordering::Release);
        }
    }
}

/// Lets one operation be given up: Abandon, Cancel, a closed connection, shutdown.
///
/// The default is that of an operation that ends before anybody could ask: it cannot be stopped, and takes no memory.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Option<Arc<AtomicU8>>);

/// Why an operation was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// There is to be no response (RFC 4511 §4.11).
    Abandoned,
    /// The response is `canceled` (RFC 3909).
    Canceled,
}

/// How a request to cancel an operation ended (RFC 3909 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancellation {
    /// The operation will be answered with `canceled`.
    Accepted,
    /// It was given up before.
    Already,
    /// It goes on to its end.
    TooLate,
}

impl StopFlag {
    /// For an operation that others will be heard beside.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Gives the operation up, whatever it is at: even one that goes on is answered with nothing.
    pub fn abandon(&self) {
        if let Some(flag) = &self.0 {
            flag.store(ABANDONED, Ordering::Release);
        }
    }

    /// Asks the operation to end with `canceled`.
    pub fn cancel(&self) -> Cancellation {
        let Some(flag) = &self.0 else {
            return Cancellation::TooLate;
        };
        match flag.compare_exchange(RUNNING, CANCELED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Cancellation::Accepted,
            Err(EXECUTING) => Cancellation::TooLate,
            Err(_) => Cancellation::Already,
        }
    }

    /// From here on the operation can no longer be canceled; false if it has been stopped. May be called again.
    pub fn begin(&self) -> bool {
        let Some(flag) = &self.0 else { return true };
        let begun = flag.compare_exchange(RUNNING, EXECUTING, Ordering::AcqRel, Ordering::Acquire);
        matches!(begun, Ok(_) | Err(EXECUTING))
    }

    /// Whether the operation can be asked to end.
    pub fn can_stop(&self) -> bool {
        self.0.is_some()
    }

    /// Whether both are of one operation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(flag), Some(other)) => Arc::ptr_eq(flag, other),
            _ => false,
        }
    }

    /// Whether and why the operation was asked to end.
    pub fn stopped(&self) -> Option<Stop> {
        match self.0.as_ref()?.load(Ordering::Acquire) {
            ABANDONED => Some(Stop::Abandoned),
            CANCELED => Some(Stop::Canceled),
            _ => None,
        }
    }
}

const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const CANCELED: u8 = 2;
/// Past the point from which it can be canceled.
const EXECUTING: u8 = 3;
