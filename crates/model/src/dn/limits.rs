//! What no name may be.

/// Most bytes of a DN's text, as in slapd. It bounds the number of RDNs too: the shortest one has four bytes with its
/// separator.
pub const MAX_LENGTH: usize = 8192;

/// Not a distinguished name of this schema; maps to `invalidDNSyntax`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid DN")]
pub struct InvalidDn;
