//! Entries in LMDB: tables, records, postings, planner, bulk build, and the change record, the only way to change
//! entries.
//!
//! Invariants: the only crate that knows LMDB; entries change only through [`WriteTransaction::apply`].

#[cfg(test)]
extern crate self as ironbark_store;

mod ahead;
mod buckets;
pub mod bulk;
mod catalog;
pub mod change;
pub mod check;
mod checkpoint;
mod claim;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod csn;
pub mod database;
pub mod derived;
mod digest;
pub mod error;
mod external;
pub mod fault;
pub mod fuzz;
mod ground;
mod hash;
mod keys;
mod log;
mod names;
mod numbering;
pub mod options;
pub mod plan;
mod points;
mod posting;
mod publication;
mod record;
mod scope;
pub mod segments;
mod sets;
mod shared_keys;
pub mod spare;
mod staging;
mod tables;
pub mod value_list;
mod varint;
mod version;
pub mod view;
mod watched;
mod write;

pub use ahead::{EqualityList, FoundAhead, LANES};
pub use buckets::{BUCKETS, BucketSums, bucket_of};
pub use bulk::{BulkBuilder, PreparedEntry, Preparer, Preparers, Unprepared};
pub use change::{ChangeKind, ChangeRecord, Effect, RecordedEffect, ValueChange};
pub use checkpoint::Checkpoint;
pub use csn::{ContextVector, Csn};
pub use database::{
    ClosedDatabase, Database, DatabaseStat, HeldSnapshot, IndexProgress, IndexStep, LostAttribute, Snapshot,
    WriteTransaction,
};
pub use derived::{Derived, DerivedAttribute, DerivedAttributes, DerivedCandidates, FilterItem, Purpose, Wanted};
pub use error::StoreError;
pub use log::{Batch, ChangeRows, ClusterLogPlace, LogLimits, LogState, TrimStep};
pub use options::{DatabaseOptions, IndexDefinition};
pub use plan::{Candidates, Plan, PlannedTerm, TermKind, UnindexedTerm};
pub use scope::DitScope;
pub use staging::Staging;
pub use value_list::ValueList;
pub use version::{EnvironmentNumber, Version};
pub use view::{AnswerCache, EntryGuards, Evaluation, Kinds, Location, Record, RecordAttribute, Subtrees, View};
pub use write::{Applied, DerivedState, LogMode};

/// Local number of an entry: rising, never reused, 1 for the first. 0 is the parent of a naming context's topmost
/// entries.
pub type EntryId = u64;
