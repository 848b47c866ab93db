//! Why a message of SCRAM cannot be read.

/// The first fault of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", self.reason())]
pub enum ScramError {
    /// It is longer than is accepted.
    TooLong,
    /// It is no text.
    NotUtf8,
    /// The two commas of the GS2 header are missing.
    Gs2Header,
    /// The message does not begin with `n`, `y` or `p=`.
    Flag,
    /// The second part of the GS2 header is neither empty nor `a=`.
    Authorization,
    /// A name is missing, empty, badly escaped, or has a zero.
    Name,
    /// A nonce is missing, empty, too long, or not printable.
    Nonce,
    /// `m=`, an extension that must be understood.
    Extension,
    /// The channel binding is missing.
    Binding,
    /// The proof is missing.
    Proof,
    /// The salt is missing or empty.
    Salt,
    /// The number of rounds is missing or no number.
    Rounds,
    /// The server's last message has neither a signature nor an error.
    Signature,
    /// A value is not in base64.
    Base64,
}

impl ScramError {
    /// A short text for the other side.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "message too long",
            Self::NotUtf8 => "not UTF-8",
            Self::Gs2Header => "GS2 header",
            Self::Flag => "channel binding flag",
            Self::Authorization => "authorization identity",
            Self::Name => "name",
            Self::Nonce => "nonce",
            Self::Extension => "mandatory extension",
            Self::Binding => "channel binding",
            Self::Proof => "proof",
            Self::Salt => "salt",
            Self::Rounds => "iteration count",
            Self::Signature => "signature",
            Self::Base64 => "base64",
        }
    }
}
