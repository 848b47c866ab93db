//! Whether a database is what it was when it was written.

mod file;
mod findings;
mod pages;
mod tree;

pub use findings::Findings;
pub(crate) use pages::refuse_truncated;
