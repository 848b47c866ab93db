//! Search scopes.

/// Search scope (RFC 4511 §4.5.1.2; `Children` is the subordinate scope of draft-sermersheim-ldap-subordinate-scope).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DitScope {
    /// The base entry.
    Base,
    /// Its immediate subordinates.
    OneLevel,
    /// The base and all below it.
    Subtree,
    /// All below the base.
    Children,
}
