//! Searches. A search is a run over candidates, from the plan to encoded entries; it can be resumed after each step.
//!
//! A run holds no snapshot between steps. Candidates come in the order of entry IDs, so the next step continues after
//! the last ID that was considered, in the latest snapshot.

mod additions;
mod ahead;
mod alias;
mod arranging;
mod base;
mod consider;
mod consider_memory;
mod counting;
mod deferred;
mod dereference;
mod derived;
mod detail;
mod emit;
mod encode;
mod external;
mod external_walk;
mod limits;
mod list_view;
mod null;
mod page;
mod paged;
mod prepare;
mod progress;
mod responses;
mod run;
mod selection;
mod slice;
mod sort;
mod sort_limits;
mod step;
mod sync;
mod tally;
mod target;
mod targets;
mod tree_sync;
mod work;

pub(crate) use self::{
    ahead::LookAhead,
    encode::entry_value,
    external::external_search,
    limits::{of as limits_of, time as time_limit},
    paged::OpenSearches,
    prepare::prepare,
    selection::Selection,
};
pub use self::{
    run::{Progress, SearchRun},
    sync::{UNORDERED as LOGGED_UNORDERED_ATTRIBUTE, log_first_note},
    tree_sync::{told_tree_vector, written_tree_vector},
};
