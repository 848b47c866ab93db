//! The messages and keys of SCRAM, DIGEST-MD5 and CRAM-MD5, for client and server. The state of a negotiation, the
//! look-up of users and the limits of a deployment stand in `client` and `directory`.
//!
//! Invariants: nothing here does I/O, reads a clock or takes randomness, so the caller gives the nonces. Proofs are
//! compared in constant time. No error holds a part of a message.

pub mod cram_md5;
pub mod digest_md5;
pub mod fuzz;
pub mod scram;

mod channel_binding;
mod hex;
mod prepared;

pub use channel_binding::{BindingType, prefixed_endpoint};
pub use hex::hex;
pub use prepared::prepared;
