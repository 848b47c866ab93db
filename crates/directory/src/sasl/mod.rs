//! SASL (RFC 4422) as bind uses it (RFC 4513 §5.2). Mechanisms are small state machines, one file each. A session keeps
//! them between the steps of a negotiation.
//!
//! Invariants: a step reads a bounded message and leaves a bounded state. Slow work (passwords, searches for names)
//! runs on the hashing pool. No answer and no log line holds a secret. A failure does not reveal whether there is such
//! a user.

pub(crate) mod anonymous;
pub(crate) mod cram_md5;
pub(crate) mod digest_md5;
pub(crate) mod external;
#[cfg(feature = "gssapi")]
pub(crate) mod gssapi;
pub(crate) mod layer;
pub(crate) mod login;
pub(crate) mod mechanism;
pub(crate) mod plain;
pub(crate) mod scram;
pub(crate) mod step;

pub use layer::{LayerError, SecurityLayer};
pub(crate) use mechanism::{Mechanism, Situation, offered};

/// A negotiation that waits for the client's next message.
pub(crate) struct Negotiation {
    pub(crate) mechanism: &'static Mechanism,
    pub(crate) exchange: Exchange,
}

/// The state of a mechanism.
pub(crate) enum Exchange {
    /// The client has not begun yet.
    Begin,
    Login(login::Exchange),
    CramMd5(cram_md5::Exchange),
    DigestMd5(digest_md5::Exchange),
    Scram(Box<scram::Exchange>),
    #[cfg(feature = "gssapi")]
    Gssapi(Box<gssapi::Exchange>),
}

/// The client's proof.
pub(crate) enum Proof {
    /// Nothing more is needed.
    Given,
    /// As before, and the layer protects the connection from here on.
    #[cfg(feature = "gssapi")]
    Protected(Box<dyn SecurityLayer>),
    Password(Vec<u8>),
    CramMd5(cram_md5::Proof),
    DigestMd5(Box<digest_md5::Proof>),
    Scram(Box<scram::Proof>),
}

impl std::fmt::Debug for Negotiation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Negotiation")
            .field("mechanism", &self.mechanism.name)
            .finish_non_exhaustive()
    }
}
