//! Failures of negotiations, with the texts of Cyrus SASL's codes that slapd's clients know.

use std::borrow::Cow;

use ironbark_model::ResultCode;

use crate::OperationError;

/// The mechanism does not exist, or is not offered on this connection.
pub(crate) fn no_mechanism() -> OperationError {
    OperationError::new(
        ResultCode::AUTH_METHOD_NOT_SUPPORTED,
        "SASL(-4): no mechanism available: ",
    )
}

/// The mechanism gives less protection than `sasl-secprops minssf` demands.
pub(crate) fn too_weak(name: &str) -> OperationError {
    let text = format!("SASL(-15): mechanism too weak for this user: mech {name} is too weak");
    OperationError::new(ResultCode::INAPPROPRIATE_AUTHENTICATION, Cow::<str>::Owned(text))
}

/// The mechanism would reveal a password to anybody who listens.
pub(crate) fn in_the_clear() -> OperationError {
    OperationError::new(
        ResultCode::INAPPROPRIATE_AUTHENTICATION,
        "SASL(-16): encryption needed to use mechanism: security flags do not match required",
    )
}

/// A message that the mechanism does not allow.
pub(crate) fn malformed(what: &str) -> OperationError {
    let text = format!("SASL(-5): bad protocol / cancel: {what}");
    OperationError::new(ResultCode::OTHER, Cow::<str>::Owned(text))
}

/// Does not reveal whether there is such a user, or the stored secrets.
pub(crate) fn unauthenticated() -> OperationError {
    OperationError::new(ResultCode::INVALID_CREDENTIALS, "SASL(-13): authentication failure")
}

/// The client may not assume the requested authorization identity.
pub(crate) fn unauthorized() -> OperationError {
    OperationError::new(
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        "SASL(-14): authorization failure: not authorized",
    )
}

/// There is no randomness.
pub(crate) fn failed() -> OperationError {
    OperationError::new(ResultCode::OTHER, "SASL(-1): generic failure")
}
