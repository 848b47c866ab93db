//! The log of a cluster, as the writer of a database sees it. The log itself is elsewhere (crate `cluster`).
//!
//! A change counts when the log has its batch, and a batch is taken only if it was made for the state behind all
//! earlier batches. So whoever appends has applied all that came before: several servers may write, in turns, and none
//! needs to be a leader. Turns are for speed alone.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use ironbark_store::{Batch, ClusterLogPlace};

use crate::{OperationError, refusal::ClusterRefusal};

/// The log of a naming context.
pub trait CommitLog: Send + Sync + fmt::Debug {
    /// The random number of the log. `None`: the log was not read yet.
    fn generation(&self) -> Option<u64>;

    /// Tells where the database is: earlier batches are not asked for again.
    fn reached(&self, place: ClusterLogPlace);

    /// The database has the changes up to this one on its disk: a crash of the machine does not take them.
    fn kept(&self, sequence: u64);

    /// The batch behind a place that the database has reached, or will reach with batches before it; `None`: it was not
    /// received yet.
    fn next(&self, place: ClusterLogPlace) -> Option<Arc<Received>>;

    /// Waits until this server may append behind `place`, `patience` at most.
    fn turn(&self, place: ClusterLogPlace, patience: Duration) -> Turn;

    /// Appends a batch behind `place`, and waits for the end, `patience` at most. `last` is the number of its last
    /// change. `has_more`: another will follow, so this server takes its place behind those that wait.
    fn append(&self, place: ClusterLogPlace, batch: &[u8], last: u64, has_more: bool, patience: Duration) -> Append;

    /// Asks a majority whether `place` is still the end of the log: [`Append::Committed`] if it is.
    fn confirm(&self, place: ClusterLogPlace, patience: Duration) -> Append;

    /// The end of the log, as a majority of etcd has it now; `patience` at most. `None`: it does not answer.
    fn end(&self, patience: Duration) -> Option<ClusterLogPlace>;

    /// Whether the database may lack changes that were made longer ago than this. It costs next to nothing.
    fn may_be_older_than(&self, age: Duration) -> bool;

    /// A mark that no other batch has.
    fn mark(&self) -> [u8; 16];

    /// How long a write may wait for the log.
    fn patience(&self) -> Duration;

    /// The database cannot take the batch behind `place`: it stays as it is, and tries again.
    fn failed(&self, place: ClusterLogPlace, why: &str);
}

/// A batch of the log, and the place behind it.
#[derive(Debug)]
pub struct Received {
    /// Its changes.
    pub batch: Batch,
    /// The place behind it.
    pub behind: ClusterLogPlace,
    /// Octets of memory that it takes, about.
    pub octets: usize,
}

/// The answer to who wants to append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It may.
    Mine,
    /// A batch was received that must be applied first.
    Behind,
    /// Nobody may append here.
    Closed(Closed),
}

/// Why nothing is appended here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// The log was not reached yet, or this server has not yet read it.
    NotJoined,
    /// The database is not a part of the log's history: another database, or the log has lost changes.
    Diverged,
    /// The log no longer has what the database lacks.
    TooOld,
    /// The log is of a later version than this program knows.
    Newer,
    /// It takes too long.
    Late,
    /// What the cluster has cannot be put into force here.
    CannotFollow,
}

/// What has become of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Append {
    /// The log has it.
    Committed,
    /// The log does not have it and never will: another batch is at its place.
    Overtaken,
    /// The log was not reached. It does not have the batch, and never will.
    Away,
    /// The log may have it, or get it yet.
    Unknown,
}

impl From<Closed> for ClusterRefusal {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::NotJoined => Self::NotJoined,
            Closed::Diverged => Self::Diverged,
            Closed::TooOld => Self::TooOld,
            Closed::Newer => Self::Newer,
            Closed::Late => Self::Late,
            Closed::CannotFollow => Self::CannotFollow,
        }
    }
}

impl From<Closed> for OperationError {
    fn from(closed: Closed) -> Self {
        ClusterRefusal::from(closed).into()
    }
}

impl Append {
    /// Whether the log has it.
    ///
    /// # Errors
    /// `busy`: it does not, and nothing was changed. `unavailable`: nobody knows.
    pub fn result(self) -> Result<(), OperationError> {
        Err(match self {
            Self::Committed => return Ok(()),
            Self::Overtaken => ClusterRefusal::Overtaken,
            Self::Away => ClusterRefusal::Late,
            Self::Unknown => ClusterRefusal::Unknown,
        }
        .into())
    }

    /// `unavailable`: the log has it, but it is not in force here.
    pub fn not_here() -> OperationError {
        ClusterRefusal::NotHere.into()
    }
}

/// The log of a database while it is followed.
#[derive(Default)]
pub(crate) struct LogSlot(ArcSwapOption<Box<dyn CommitLog>>);

impl LogSlot {
    pub(crate) fn get(&self) -> Option<Arc<Box<dyn CommitLog>>> {
        self.0.load_full()
    }

    pub(crate) fn set(&self, log: Option<Box<dyn CommitLog>>) {
        self.0.store(log.map(Arc::new));
    }
}

impl fmt::Debug for LogSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogSlot")
    }
}
