//! What follows from a message of the client, for any mechanism.

use ironbark_model::Dn;

use crate::OperationError;

/// A challenge, or a claim. `E`: how far the mechanism has come; `P`: why the client should be believed.
pub(crate) enum Step<E, P> {
    /// A challenge, and what the answer to it will be read with.
    Challenge(Vec<u8>, E),
    /// The client has said all.
    Claim(Claim<P>),
}

/// What a mechanism makes of a message.
pub(crate) type StepResult<E, P> = Result<Step<E, P>, OperationError>;

/// Who a client says that it is.
pub(crate) struct Claim<P> {
    /// Its name.
    pub(crate) user: User,
    /// Whom it wants to act for, if that is not itself.
    pub(crate) authorization: Option<String>,
    pub(crate) proof: P,
}

/// The name of a client.
pub(crate) enum User {
    /// As the mechanism has it.
    Name(String),
    /// The connection tells it.
    Dn(Dn),
    Anonymous,
}

impl<E, P> Step<E, P> {
    /// The same in the words of all mechanisms.
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
