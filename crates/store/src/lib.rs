//! Entries in LMDB: tables, records, postings, planner, bulk build, and the change record that alone alters them.
//!
//! Invariants: the only crate that knows LMDB; entries change only through [`WriteTransaction::apply`].

pub mod change;
pub mod database;
pub mod error;
pub mod plan;
pub mod view;

pub use change::{ChangeKind, ChangeRecord, Effect, ValueChange};
pub use database::{Database, DatabaseOptions, Snapshot, WriteTransaction};
pub use error::StoreError;
pub use plan::{Candidates, Plan, Scope};
pub use view::{Location, Record, View};

/// Local number of an entry: rising, never reused, 1 for the first. 0 is the parent of a naming context's topmost entries.
pub type EntryId = u64;
