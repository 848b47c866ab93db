//! Overlay homedir: home directories follow entries, as with slapd; and what clients and users try.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod follow;
mod site;
mod tricks;
