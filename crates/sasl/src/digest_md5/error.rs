//! Why a message of DIGEST-MD5 cannot be read.

/// The first fault of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", self.reason())]
pub enum DigestError {
    /// It is too long, or no text.
    NoText,
    /// A directive has no value, or its quotes do not end.
    Directive,
    /// A directive that may occur once occurs twice.
    Twice,
    /// A directive that must be there is missing.
    Missing,
    /// The algorithm is not `md5-sess`.
    Algorithm,
    /// A challenge does not offer `qop=auth`.
    LayerDemanded,
    /// `qop`, `nc` or `charset` of a response has a value that was not offered.
    Value,
    /// A response has no `nc`.
    NoCount,
}

impl DigestError {
    /// A short text for the other side.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoText => "no digest-response",
            Self::Directive => "directive",
            Self::Twice => "a directive occurs twice",
            Self::Missing => "a directive is missing",
            Self::Algorithm => "algorithm",
            Self::LayerDemanded => "qop",
            Self::Value => "qop, nc or charset",
            Self::NoCount => "nc is missing",
        }
    }
}
