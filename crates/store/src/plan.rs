//! How a search is answered: the planner's choice and the candidates that follow from it.

use std::marker::PhantomData;

use crate::EntryId;

/// Search scope (RFC 4511 §4.5.1.2; `Children` is the subordinate scope of draft-sermersheim-ldap-subordinate-scope).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The base entry.
    Base,
    /// Its immediate subordinates.
    OneLevel,
    /// The base and all below it.
    Subtree,
    /// All below the base.
    Children,
}

/// The chosen way. `Display` explains it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether some index (or the scope alone) served; false: entries were scanned (`not indexed` in the log).
    pub indexed: bool,
    /// Upper bound of the number of candidates, for the look-through limit (`size.unchecked`).
    pub candidate_estimate: u64,
}

/// Entry IDs in ascending order, each still to be verified unless the plan is exact.
pub struct Candidates<'t> {
    _private: PhantomData<&'t ()>,
}

impl Candidates<'_> {
    /// The next candidate.
    pub fn next_id(&mut self) -> Result<Option<EntryId>, crate::StoreError> {
        Ok(None)
    }
}
