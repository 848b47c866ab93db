//! Limits of names.

/// The greatest length of a DN's text in bytes, as in slapd. It also bounds the number of RDNs: the shortest RDN has
/// four bytes with its separator.
pub const MAX_LENGTH: usize = 8192;

/// Not a distinguished name of this schema; maps to `invalidDNSyntax`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid DN")]
pub struct InvalidDn;
