//! The result of a client's message, for any mechanism.

use ironbark_model::Dn;

use crate::OperationError;

/// A challenge, or a claim. `E`: the state of the mechanism; `P`: the client's proof.
pub(crate) enum Step<E, P> {
    /// A challenge, and the state for reading its answer.
    Challenge(Vec<u8>, E),
    /// The client has sent everything.
    Claim(Claim<P>),
}

/// The result of a message in a mechanism.
pub(crate) type StepResult<E, P> = Result<Step<E, P>, OperationError>;

/// The identity that a client claims.
pub(crate) struct Claim<P> {
    /// Its name.
    pub(crate) user: User,
    /// The requested authorization identity, if it is another one.
    pub(crate) authorization: Option<String>,
    pub(crate) proof: P,
}

/// The name of a client.
pub(crate) enum User {
    /// As the mechanism has it.
    Name(String),
    /// The connection supplies it.
    Dn(Dn),
    Anonymous,
}

impl<E, P> Step<E, P> {
    /// The same in the common form of all mechanisms.
    pub(crate) fn map<F, Q>(self, exchange: impl FnOnce(E) -> F, proof: impl FnOnce(P) -> Q) -> Step<F, Q> {
        match self {
            Self::Challenge(challenge, own) => Step::Challenge(challenge, exchange(own)),
            Self::Claim(claim) => Step::Claim(Claim {
                user: claim.user,
                authorization: claim.authorization,
                proof: proof(claim.proof),
            }),
        }
    }
}
