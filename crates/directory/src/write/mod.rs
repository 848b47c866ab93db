//! Writing: the way of requests through the queue of a database, the threads that execute them, and the work after a
//! commit.

mod catch_up;
mod checkpoints;
mod commit;
mod context;
mod errand;
mod flusher;
pub(crate) mod followers;
mod indexing;
pub(crate) mod job;
mod lag;
pub(crate) mod newest;
mod partner;
mod replay;
pub(crate) mod request;
mod site;
mod stored;
mod timers;
pub(crate) mod transaction;
pub(crate) mod tree_records;
mod trees;
mod trimming;

pub use self::{
    errand::run_errand,
    replay::{Replayed, replay},
};
pub(crate) use self::{stored::run as run_stored, trees::run as run_trees};
