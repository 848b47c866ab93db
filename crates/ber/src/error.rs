//! What can be wrong with a BER encoding, and where.

/// A BER encoding that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at byte {position}")]
pub struct BerError {
    /// Offset in bytes from the start of the outermost slice that was given to [`crate::Reader::new`].
    pub position: usize,
    /// What is wrong there.
    pub kind: ErrorKind,
}

/// The kinds of [`BerError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ErrorKind {
    /// The slice ends before the element does.
    #[error("truncated element")]
    Truncated,
    /// Another tag was expected.
    #[error("unexpected tag")]
    UnexpectedTag,
    /// A tag number in more than four base-128 octets, or with leading zeros.
    #[error("bad tag number")]
    BadTagNumber,
    /// The indefinite length form (RFC 4511 §5.1 forbids it).
    #[error("indefinite length")]
    IndefiniteLength,
    /// A length in more than four octets, or the reserved form `FF`.
    #[error("length too long")]
    LengthTooLong,
    /// An INTEGER or ENUMERATED without octets, or out of range.
    #[error("bad integer")]
    BadInteger,
    /// A BOOLEAN that is not one octet.
    #[error("bad boolean")]
    BadBoolean,
    /// Octets after the last element.
    #[error("trailing data")]
    TrailingData,
}
