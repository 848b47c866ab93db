//! OpenLDAP's contributed modules that act on writes, beside Debian's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod authzid;
mod automember;
mod dna;
mod smbk5pwd;
mod verify_credentials;

const BASE: &str = "dc=example,dc=com";
