//! The end of an operation: its response, its line in the log, its counters.

pub(crate) mod completion;
pub(crate) mod end;
pub(crate) mod external;
pub(crate) mod given;
pub(crate) mod hashing_pool;
mod line;
pub(crate) mod log;
pub(crate) mod respond;
pub(crate) mod slow_work;
