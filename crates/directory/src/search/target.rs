//! The targets of a search: bases in naming contexts, walked one after the other. A walk can be resumed at an entry ID.

use std::sync::Arc;

use ironbark_model::{Dn, Entry};
use ironbark_store::{EntryId, Plan, Scope};

use super::external_walk::ExternalWalk;
use crate::NamingContext;

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
    pub(crate) scope: Scope,
    /// The plan, chosen in the first step.
    pub(crate) plan: Option<Plan>,
    /// The last entry that was considered.
    pub(crate) position: EntryId,
}

/// A walk over entries in memory.
pub(crate) struct MemoryWalk {
    pub(crate) entries: Arc<[Entry]>,
    pub(crate) base: Dn,
    pub(crate) scope: Scope,
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
    pub(crate) fn stored(context: Arc<NamingContext>, id: EntryId, scope: Scope) -> Self {
        Self::of_alias(context, id, scope, 0)
    }

    /// A subtree to which an alias led. `earlier_bases`: the subtrees before it.
    pub(crate) fn of_alias(context: Arc<NamingContext>, id: EntryId, scope: Scope, earlier_bases: usize) -> Self {
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
                position: 0,
            }),
        }
    }

    /// A database glued below the base of a search.
    pub(crate) fn glued(context: Arc<NamingContext>, id: EntryId, scope: Scope) -> Self {
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

    /// Drops the plan, so that the next step makes another one.
    pub(crate) fn forget_plan(&mut self) {
        if let Walk::Stored(walk) = &mut self.walk {
            walk.plan = None;
        }
    }

    pub(crate) fn memory(context: Arc<NamingContext>, entries: Arc<[Entry]>, base: Dn, scope: Scope) -> Self {
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

/// Whether `dn` lies within `scope` of `base`.
pub(crate) fn in_scope(dn: &Dn, base: &Dn, scope: Scope) -> bool {
    match scope {
        Scope::Base => dn == base,
        Scope::OneLevel => dn.depth() == base.depth() + 1 && dn.is_within(base),
        Scope::Subtree => dn.is_within(base),
        Scope::Children => dn.depth() > base.depth() && dn.is_within(base),
    }
}
