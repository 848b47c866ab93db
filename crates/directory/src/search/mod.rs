//! Searching: a resumable run over candidates, from the plan to encoded entries.
//!
//! A run holds no snapshot between steps: candidates come in entry-ID order, so it goes on behind the last ID it has
//! considered, in whatever snapshot is then the last.

mod additions;
mod alias;
mod arranging;
mod base;
mod consider;
mod deferred;
mod dereference;
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
mod responses;
mod run;
mod selection;
mod slice;
mod sort;
mod sort_limits;
mod step;
mod tally;
mod target;
mod work;

pub use self::run::{Progress, SearchRun};
pub(crate) use self::{
    additions::computed_values,
    encode::entry_value,
    external::external_search,
    limits::{of as limits_of, time as time_limit},
    paged::OpenSearches,
    prepare::{invalid_base, prepare},
    selection::Selection,
};
