//! The targets of a search: bases in naming contexts, walked one after the other. A walk can be resumed at an entry ID.

use std::sync::Arc;

use ironbark_model::{Dn, Entry};
use ironbark_store::{DitScope, EntryId, Plan, StoreError, View};

use super::external_walk::ExternalWalk;
use crate::NamingContext;

/// Number of extents that are asked about an entry in about one step.
const EXTENTS_PER_STEP: usize = 8;

/// One base and scope in one naming context.
pub(crate) struct Target {
    pub(crate) context: Arc<NamingContext>,
    pub(crate) walk: Walk,
}

/// The way to a target's entries.
pub(crate) enum Walk {
    /// Entries of the store.
    Stored(StoredWalk),
    /// Entries in memory.
    Memory(MemoryWalk),
    /// Entries from elsewhere, in their order of arrival.
    External(Box<ExternalWalk>),
}

/// A walk over stored entries.
pub(crate) struct StoredWalk {
    pub(crate) base: Base,
    pub(crate) scope: DitScope,
    /// The plan, chosen in the first step.
    pub(crate) plan: Option<Plan>,
    /// Whether the plan is not made for the filter, but for entries that are given.
    pub(crate) is_given: bool,
    /// The remembered decisions about the subject with which the plan follows chains; 0 for none.
    pub(crate) decisions: u64,
    /// Whether the look-through limit in force was asked.
    pub(crate) is_limited: bool,
    /// The last entry that was considered.
    pub(crate) position: EntryId,
}

/// What a target covers: a scope in the database of a naming context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The number of the naming context.
    pub(crate) number: i32,
    base: EntryId,
    scope: DitScope,
}

/// A walk over entries in memory.
pub(crate) struct MemoryWalk {
    pub(crate) entries: Arc<[Entry]>,
    pub(crate) base: Dn,
    pub(crate) scope: DitScope,
    /// Number of entries that were considered.
    pub(crate) position: usize,
}

/// The base of a stored walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    pub(crate) id: EntryId,
    /// If an alias led here: the number of subtrees that the search covers before this one. Their entries are not
    /// returned again.
    pub(crate) earlier_bases: usize,
    /// Whether this is the suffix of a glued database. Without the right to search there, nothing in it is found.
    pub(crate) is_glued: bool,
}

impl Target {
    pub(crate) fn stored(context: Arc<NamingContext>, id: EntryId, scope: DitScope) -> Self {
        Self::of_alias(context, id, scope, 0)
    }

    /// A subtree to which an alias led. `earlier_bases`: the subtrees before it.
    pub(crate) fn of_alias(context: Arc<NamingContext>, id: EntryId, scope: DitScope, earlier_bases: usize) -> Self {
        let base = Base {
            id,
            earlier_bases,
            is_glued: false,
        };
        Self {
            context,
            walk: Walk::Stored(StoredWalk {
                base,
                scope,
                plan: None,
                is_given: false,
                decisions: 0,
                is_limited: false,
                position: 0,
            }),
        }
    }

    /// What it covers of the store.
    pub(crate) fn extent(&self) -> Option<Extent> {
        match &self.walk {
            Walk::Stored(walk) => Some(Extent {
                number: self.context.number,
                base: walk.base.id,
                scope: walk.scope,
            }),
            Walk::Memory(_) | Walk::External(_) => None,
        }
    }

    /// A database glued below the base of a search.
    pub(crate) fn glued(context: Arc<NamingContext>, id: EntryId, scope: DitScope) -> Self {
        let mut target = Self::stored(context, id, scope);
        target.mark_glued();
        target
    }

    /// Notes that its base is the suffix of a glued database.
    pub(crate) fn mark_glued(&mut self) {
        if let Walk::Stored(walk) = &mut self.walk {
            walk.base.is_glued = true;
        }
    }

    /// Whether its entries come from elsewhere, or were given to the search: they cannot be asked for again.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self.walk {
            Walk::Stored(_) => false,
            Walk::Memory(_) => self.context.backend.is_stored() || self.context.backend.external().is_some(),
            Walk::External(_) => true,
        }
    }

    pub(crate) fn memory(context: Arc<NamingContext>, entries: Arc<[Entry]>, base: Dn, scope: DitScope) -> Self {
        Self {
            context,
            walk: Walk::Memory(MemoryWalk {
                entries,
                base,
                scope,
                position: 0,
            }),
        }
    }
}

/// Whether one of the extents covers an entry of the database of this number now.
pub(crate) fn is_covered(extents: &[Extent], number: i32, id: EntryId, view: View<'_>) -> Result<bool, StoreError> {
    view.spend((extents.len() / EXTENTS_PER_STEP) as u64);
    for extent in extents.iter().filter(|extent| extent.number == number) {
        if view.in_scope(id, extent.base, extent.scope)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `dn` lies within `scope` of `base`.
pub(crate) fn in_scope(dn: &Dn, base: &Dn, scope: DitScope) -> bool {
    match scope {
        DitScope::Base => dn == base,
        DitScope::OneLevel => dn.depth() == base.depth() + 1 && dn.is_within(base),
        DitScope::Subtree => dn.is_within(base),
        DitScope::Children => dn.depth() > base.depth() && dn.is_within(base),
    }
}
