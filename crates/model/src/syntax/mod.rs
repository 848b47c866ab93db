//! Attribute syntaxes (RFC 4517 §3.3): one file and one row of the table each.

use crate::Schema;

/// One attribute syntax.
pub struct Syntax {
    /// Dotted-decimal OID.
    pub oid: &'static str,
    /// DESC as published.
    pub description: &'static str,
    /// Whether values must travel with `;binary` (RFC 4522), as certificates do.
    pub binary_transfer: bool,
    /// Whether a person can read values (`X-NOT-HUMAN-READABLE` is published otherwise).
    pub human_readable: bool,
    /// Checks one value.
    pub validate: fn(&Schema, &[u8]) -> Result<(), InvalidValue>,
}

/// A value does not conform to its syntax; maps to `invalidAttributeSyntax` or an Undefined filter item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("value does not conform to its syntax")]
pub struct InvalidValue;

impl std::fmt::Debug for Syntax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.oid)
    }
}

impl PartialEq for Syntax {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}
impl Eq for Syntax {}
