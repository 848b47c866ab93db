//! Who a connection speaks for: sessions, the proofs of SASL, authorization.

pub(crate) mod authorization;
pub(crate) mod proxied;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod verify;
