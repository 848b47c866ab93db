//! Why a password is not hashed.

/// A new hash could not be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HashError {
    /// The scheme is for old values only.
    #[error("scheme cannot be used for new passwords")]
    VerifyOnly,
    /// The library refused.
    #[error("password could not be hashed")]
    Failed,
}
