//! Access rules compared with Debian's slapd: the same rules, data and requests must give the same answers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod differential;
mod evaluator;
mod forms;
mod model;
mod operations;
mod property;
mod questions;
mod random;
mod site;
mod slapacl;
mod slapauth;
