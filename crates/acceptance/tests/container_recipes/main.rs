//! What the scripts of common container images do to a configuration, step by step, beside Debian's slapd: exit status
//! and complaint of each step, what clients then see, and the configuration directory at the end. The LDIF is written
//! for these tests.
//!
//! Left out is what belongs to parts that are not built: password policy, access log, synchronization.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod bitnami;
mod debian;
mod image;
mod operator;
mod osixia;
mod osixia_bootstrap;
mod tls;
mod vegardit;
