//! How an operation is abandoned, and other conditions for its continuation: writes in a sequence, a password that must
//! be changed.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use ironbark_model::Dn;

/// Writes in order, none of which is executed after a refused one: a file of changes that ends at its first error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence(Option<Arc<AtomicU64>>);

impl Sequence {
    /// A sequence that ends at the first refusal.
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

    /// The operation is executed again: its refusal does not count.
    pub(crate) fn forget(&self, operation: u64) {
        if let Some(first) = &self.0 {
            // Where an earlier one was refused, this one did not end the sequence.
            let _ = first.compare_exchange(operation, u64::MAX, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Whether an operation before this one was refused.
    pub(crate) fn has_ended_before(&self, operation: u64) -> bool {
        let first = self.0.as_ref().map(|first| first.load(Ordering::Acquire));
        first.is_some_and(|first| operation > first)
    }
}

/// Set while a connection may only change its password, as the password policy demands. Each bind begins with a new
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restriction(Option<Arc<Restricted>>);

#[derive(Debug, Default)]
struct Restricted {
    holds: AtomicBool,
    /// The account that has bound, whatever identity an operation assumes.
    account: OnceLock<Dn>,
}

impl Restriction {
    /// A restriction that can be set.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether only the password may be changed.
    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_some_and(|known| known.holds.load(Ordering::Acquire))
    }

    /// Whether only the password of this account may be changed.
    pub(crate) fn holds_for(&self, account: &Dn) -> bool {
        let known = self.0.as_ref().and_then(|known| known.account.get());
        self.holds() && known == Some(account)
    }

    /// Begins it. A bind is of one account.
    pub(crate) fn begin(&self, account: &Dn) {
        if let Some(known) = &self.0 {
            let _ = known.account.set(account.clone());
            known.holds.store(true, Ordering::Release);
        }
    }

    /// Lifts it.
    pub(crate) fn lift(&self) {
        if let Some(known) = &self.0 {
            known.holds.store(false, Ordering::Release);
        }
    }
}

/// Allows one operation to be abandoned: Abandon, Cancel, a closed connection, shutdown.
///
/// The default belongs to an operation that ends before anybody could ask for it: it cannot be stopped, and takes no
/// memory.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Option<Arc<AtomicU8>>);

/// Why an operation was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// No response is sent (RFC 4511 §4.11).
    Abandoned,
    /// The response is `canceled` (RFC 3909).
    Canceled,
}

/// How a request to cancel an operation ended (RFC 3909 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancellation {
    /// The operation will be answered with `canceled`.
    Accepted,
    /// It was stopped before.
    Already,
    /// It continues to its end.
    TooLate,
}

impl StopFlag {
    /// For an operation during which other requests can arrive.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Abandons the operation in any state: even if it continues, it gets no response.
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

    /// From here on the operation can no longer be canceled. Returns `false` if it was stopped. May be called again.
    pub fn begin(&self) -> bool {
        let Some(flag) = &self.0 else { return true };
        let begun = flag.compare_exchange(RUNNING, EXECUTING, Ordering::AcqRel, Ordering::Acquire);
        matches!(begun, Ok(_) | Err(EXECUTING))
    }

    /// Whether the operation can be asked to end.
    pub fn can_stop(&self) -> bool {
        self.0.is_some()
    }

    /// Whether both belong to the same operation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(flag), Some(other)) => Arc::ptr_eq(flag, other),
            _ => false,
        }
    }

    /// Whether nothing may be sent for it any more.
    pub fn is_abandoned(&self) -> bool {
        self.stopped() == Some(Stop::Abandoned)
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
/// Too late to cancel.
const EXECUTING: u8 = 3;
