//! Extended operations (RFC 4511 §4.12), one file each, both directions, and their registry.

pub mod cancel;
mod descriptor;
pub mod password_modify;
pub mod refresh;
pub mod replica_digest;
pub mod start_tls;
pub mod transaction;
pub mod verify_credentials;
pub mod who_am_i;

pub use descriptor::{ExtendedDescriptor, ExtendedOperation};

/// The row of an extended operation; `None` is answered with `protocolError`, "unsupported extended operation".
pub fn lookup(oid: &[u8]) -> Option<&'static ExtendedDescriptor> {
    REGISTRY.iter().find(|row| row.oid.as_bytes() == oid)
}

/// All extended operations.
pub static REGISTRY: [ExtendedDescriptor; 9] = [
    start_tls::DESCRIPTOR,
    password_modify::DESCRIPTOR,
    who_am_i::DESCRIPTOR,
    cancel::DESCRIPTOR,
    transaction::END_DESCRIPTOR,
    transaction::START_DESCRIPTOR,
    refresh::DESCRIPTOR,
    replica_digest::DESCRIPTOR,
    verify_credentials::DESCRIPTOR,
];
