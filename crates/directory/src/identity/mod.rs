//! The identities of connections: sessions, SASL proofs, authorization.

pub(crate) mod proxied;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod verification;
pub(crate) mod verify;
