//! Reviews a configuration, and the searches on its databases.
//!
//! [`review`] takes a configuration as written, and logs of a server that used it, and returns [`Findings`]. [`index`]
//! takes the cost of searches, and returns the indexes that would have saved it. Nothing is printed or changed here.

mod error;
mod finding;
pub mod index;
mod log;
mod masked;
mod review;
mod written;

pub use error::ReviewError;
pub use finding::{Finding, FindingClass, FindingPlace, Findings};
pub use masked::{masked_configuration, masked_findings};
pub use review::review;
pub use written::WrittenConfiguration;
