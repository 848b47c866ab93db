//! The changes that scripts of common container images make to a configuration, step by step, compared with Debian's
//! slapd: exit status and error of each step, the results for clients, and the configuration directory at the end. The
//! LDIF is written for these tests.
//!
//! Steps for unsupported parts are left out: password policy, access log, synchronization.
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
