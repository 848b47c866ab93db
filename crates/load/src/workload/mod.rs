//! Workloads: the requests of the connections of a run. One file each.

mod directorymark;
mod filters;
mod groups;
mod operations;
mod replay;
mod sample;
mod scan;
mod search;
mod session;
mod ycsb;
mod zipf;

use std::{fmt, io};

use crate::{result::Unit, wire::RequestSlot};

pub use directorymark::{DirectoryMark, Load, Mix};
pub use filters::{FilterMix, Filters};
pub use groups::Groups;
pub use operations::{EntryOrder, OperationKind, Operations};
pub use replay::{Replay, write_changes};
pub use sample::Population;
pub use scan::Scan;
pub use search::SearchWorkload;
pub use session::{SessionWorkload, TlsReuse};
pub use ycsb::{Ycsb, YcsbMix};

/// The requests of the connections of a run. A workload may run several times in one process.
pub trait Workload: Send + Sync {
    /// The workload's name and its variant.
    fn name(&self) -> String;

    /// The kinds of operation that it measures. Requests refer to them by their index.
    fn kinds(&self) -> &[RequestClass];

    /// The requests of connection `number` out of `connections`. Requests of different connections never collide.
    fn requests(&self, number: u32, connections: u32) -> Box<dyn Requests>;

    /// The unit of its rate.
    fn unit(&self) -> Unit {
        if self.kinds().iter().any(|kind| kind.counts_entries) {
            Unit::Entries
        } else {
            Unit::Operations
        }
    }
}

/// Requests of one kind, which are measured together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestClass {
    /// Its name in reports.
    pub name: String,
    /// Result codes of a successful answer.
    pub expected_codes: &'static [u32],
    /// The fewest entries that such an answer has.
    pub least_entries: u32,
    /// Whether the rate counts entries, not operations.
    pub counts_entries: bool,
}

/// The requests of one connection.
pub trait Requests: Send {
    /// Appends the next request, with the message ID of `slot`.
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next;

    /// Reports the answer to the request that had that slot.
    fn answered(&mut self, _slot: RequestSlot, _kind: u8, _code: u32) {}
}

/// The result of [`Requests::next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A request of this kind is in the buffer.
    Sent(u8),
    /// Nothing. There will be more requests after an answer.
    Wait,
    /// Nothing, and there will be no more requests.
    End,
}

/// Why a workload cannot be created.
#[derive(Debug)]
pub struct WorkloadError(pub String);

impl RequestClass {
    /// A kind whose answers have result code 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            expected_codes: &[0],
            least_entries: 0,
            counts_entries: false,
        }
    }

    /// The same kind with other codes.
    #[must_use]
    pub fn expecting(mut self, codes: &'static [u32]) -> Self {
        self.expected_codes = codes;
        self
    }

    /// The same kind, with at least this many entries in each answer.
    #[must_use]
    pub fn least_entries(mut self, entries: u32) -> Self {
        self.least_entries = entries;
        self
    }

    /// The same kind, counted in entries.
    #[must_use]
    pub fn counting_entries(mut self) -> Self {
        self.counts_entries = true;
        self
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorkloadError {}

impl From<io::Error> for WorkloadError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<String> for WorkloadError {
    fn from(text: String) -> Self {
        Self(text)
    }
}
