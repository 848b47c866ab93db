//! Attacks and their results: each test is a row of the table in docs/security.md.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod accounts;
mod computed;
mod disclosure;
mod documented;
mod files;
mod identity;
mod long;
mod memory;
mod moves;
mod oracles;
mod process;
mod referrals;
mod site;
mod strings;
mod tools;
mod turns;
mod verifications;
mod views;
mod watchers;
use crate::overload::wire;
mod wire_tls;
mod work;
