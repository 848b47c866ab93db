//! Writing: requests on their way through the queue of a database, the threads that execute them, what follows a
//! commit.

mod flusher;
mod followers;
mod indexing;
pub(crate) mod job;
pub(crate) mod request;
mod stored;
mod timers;
mod trees;

pub(crate) use self::{stored::run as run_stored, trees::run as run_trees};
