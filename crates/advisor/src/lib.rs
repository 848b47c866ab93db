//! What is to be said of a configuration, and of what is asked of its databases.
//!
//! [`review`] takes a configuration as it is written, and logs of a server that had it, and gives [`Findings`];
//! [`index`] takes what searches have cost, and gives the indexes that would have spared it. Nothing is printed and
//! nothing is changed here.

mod error;
mod finding;
pub mod index;
mod log;
mod review;
mod written;

pub use error::ReviewError;
pub use finding::{Class, Finding, Findings, Place};
pub use review::review;
pub use written::WrittenConfiguration;
