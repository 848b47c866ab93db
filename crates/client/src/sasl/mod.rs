//! SASL (RFC 4422) from the client's side, in LDAP's bind (RFC 4513 §5.2). Mechanisms are small state machines, one
//! file each, as on the server's side in `directory`. Messages and keys that both sides have stand in crate `sasl`.
//!
//! They are our own. The library `rsasl` was looked at (2.3): its SCRAM computes as many rounds as the server asks for,
//! up to 2^32, and in the caller's thread; it has neither DIGEST-MD5 nor CRAM-MD5; and it brings a second generation of
//! the hash crates. What is hard in a mechanism (hashes, HMAC, PBKDF2, SASLprep) comes from libraries in `sasl`, too.
//!
//! Invariants: a server that does not prove that it knows the password is refused, where the mechanism lets it prove
//! that. A step computes a bounded time and may block, so the caller gives it to a thread that may. No error holds a
//! secret. No security layer is negotiated.

mod cram_md5;
mod digest_md5;
mod external;
#[cfg(feature = "gssapi")]
mod gssapi;
mod mechanism;
mod plain;
mod scram;

pub(crate) use mechanism::{Mechanism, Situation, choose};

/// One negotiation, from the client's side.
pub(crate) trait Exchange: Send {
    /// The data of the first bind request; `None`: the server speaks first.
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure>;

    /// Answers a challenge.
    fn step(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslFailure>;

    /// Checks whether the server may end the negotiation with success now. `last` is the data of its result.
    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure>;
}

/// Why a negotiation cannot go on, for the administrator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SaslFailure(pub(crate) String);

impl SaslFailure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The server sent a challenge that the mechanism does not have at this place.
    pub(crate) fn unexpected() -> Self {
        Self::new("the server goes on where the mechanism ends")
    }

    /// The server accepted the bind without its part of the mechanism.
    pub(crate) fn unproven() -> Self {
        Self::new("the server accepts the bind, but does not prove that it knows the password")
    }

    /// The server's proof is not made with the password.
    pub(crate) fn impostor() -> Self {
        Self::new("the server's proof is wrong: it does not know the password")
    }
}

/// For mechanisms in which the server sends nothing with its result.
fn no_data(last: Option<&[u8]>) -> Result<(), SaslFailure> {
    match last {
        None | Some([]) => Ok(()),
        Some(_) => Err(SaslFailure::unexpected()),
    }
}
