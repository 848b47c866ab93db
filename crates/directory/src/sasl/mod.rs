//! SASL (RFC 4422) as bind uses it (RFC 4513 §5.2): mechanisms are small state machines, one file each, which a session keeps between the
//! steps of a negotiation.
//!
//! Invariants: a step reads a bounded message and leaves a bounded state; what takes long (passwords, searches for names) runs on the
//! hashing pool; no answer and no log line holds a secret; a failure does not tell whether there is such a user.

mod anonymous;
pub(crate) mod bind;
mod cram_md5;
mod digest_md5;
mod external;
mod failure;
mod login;
mod mechanism;
mod plain;
mod scram;
mod secrets;
mod turn;
mod verify;

use ironbark_model::Dn;

pub(crate) use mechanism::{Mechanism, Situation, offered};

use crate::OperationError;

/// A negotiation that waits for the client's next message.
pub(crate) struct Negotiation {
    mechanism: &'static Mechanism,
    exchange: Exchange,
}

/// How far a mechanism has come.
enum Exchange {
    /// The client has still to begin.
    Begin,
    Login(login::Exchange),
    CramMd5(cram_md5::Exchange),
    DigestMd5(digest_md5::Exchange),
    Scram(Box<scram::Exchange>),
}

/// What follows from a message of the client.
enum Step {
    /// A challenge, and what the answer to it will be read with.
    Challenge(Vec<u8>, Exchange),
    /// The client has said all.
    Claim(Claim),
}

/// Who a client says that it is.
struct Claim {
    /// Its name.
    user: User,
    /// Whom it wants to act for, if that is not itself.
    authorization: Option<String>,
    proof: Proof,
}

/// The name of a client.
enum User {
    /// As the mechanism has it.
    Name(String),
    /// The connection tells it.
    Dn(Dn),
    Anonymous,
}

/// Why a client should be believed.
enum Proof {
    /// Nothing more is needed.
    Given,
    Password(Vec<u8>),
    CramMd5(cram_md5::Proof),
    DigestMd5(Box<digest_md5::Proof>),
    Scram(Box<scram::Proof>),
}

type StepResult = Result<Step, OperationError>;

impl std::fmt::Debug for Negotiation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Negotiation")
            .field("mechanism", &self.mechanism.name)
            .finish_non_exhaustive()
    }
}
