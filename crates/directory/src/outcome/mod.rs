//! How an operation ends: its response, its line of the log, what is counted.

pub(crate) mod completion;
pub(crate) mod end;
pub(crate) mod external;
pub(crate) mod given;
pub(crate) mod hashing_pool;
pub(crate) mod log;
pub(crate) mod respond;
