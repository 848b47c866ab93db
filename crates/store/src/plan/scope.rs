//! The scope as a source of candidates: small subtrees are walked through `names`, even if an index could answer.

use super::{Source, Way, conjunction::Ahead, planner::Answer};
use crate::{DerivedCandidates, EntryId, StoreError, View, posting::IdSet, record::codec, scope::DitScope, varint};

/// Index answers up to this size are verified without a look at the scope.
const FEW: u64 = 32;
/// The part of the index answer's size that a walk may take before it stops.
const WALK_PART: u64 = 8;
/// Walks of this length are always tried, and cost nothing.
const SHORT_WALK: u64 = 256;
/// Steps for a name behind them.
const NAME_STEPS: u64 = 1;
/// The same with a look whether there are names below it.
const BRANCH_STEPS: u64 = 4;

/// The result.
pub(super) struct Narrowed {
    pub(super) source: Source,
    pub(super) estimate: u64,
    pub(super) way: Way,
}

/// Chooses between the index answer and the scope.
pub(super) fn narrow(view: View<'_>, base: EntryId, scope: DitScope, answer: Answer) -> Result<Narrowed, StoreError> {
    let of_index = |set: IdSet, way| Narrowed {
        estimate: set.len(),
        source: Source::of(set),
        way,
    };
    let total = view.entry_count()?;
    let size = match &answer {
        Answer::Set(set, _) => set.len(),
        Answer::Lists(lists, _) => lists.estimate(),
        _ => total,
    };
    let limit = (size / WALK_PART).max(SHORT_WALK);
    let walked = match scope {
        _ if size <= FEW => None,
        DitScope::Base => None,
        DitScope::OneLevel => children(view, base, limit)?,
        DitScope::Subtree | DitScope::Children if view.is_everything(base)? => None,
        DitScope::Subtree | DitScope::Children => subtree(view, base, scope, limit)?,
    };
    let way = if scope == DitScope::OneLevel {
        Way::Children
    } else {
        Way::Subtree
    };
    Ok(match (walked, answer) {
        (Some(mut walked), Answer::Set(set, _)) => {
            walked.intersect(&set);
            of_index(walked, Way::IndexAndScope)
        }
        (Some(walked), Answer::Lists(lists, _)) => of_index(lists.narrow(view, &walked)?, Way::IndexAndScope),
        (Some(walked), _) => of_index(walked, way),
        (None, Answer::Set(set, _)) => of_index(set, Way::Index),
        (None, Answer::Lists(lists, _)) => Narrowed {
            estimate: size,
            source: Source::Lists(lists, Ahead::default()),
            way: Way::Index,
        },
        (None, _) => Narrowed {
            source: Source::All,
            estimate: total,
            way: Way::Scan,
        },
    })
}

/// The entries in a scope, if there are at most `limit`.
pub(crate) fn candidates(
    view: View<'_>,
    base: EntryId,
    scope: DitScope,
    limit: u64,
) -> Result<DerivedCandidates, StoreError> {
    let found = match scope {
        DitScope::Base => return Ok(DerivedCandidates::one(Some(base))),
        DitScope::OneLevel => children(view, base, limit)?,
        DitScope::Subtree | DitScope::Children if view.is_everything(base)? => None,
        DitScope::Subtree | DitScope::Children => subtree(view, base, scope, limit)?,
    };
    Ok(found.map_or(DerivedCandidates::Everything, |set| {
        DerivedCandidates::Ids(set.into_treemap())
    }))
}

/// Whether a walk that has seen so many names goes on. A large database may have millions of them within the limit.
fn goes_on(view: View<'_>, seen: u64, limit: u64, steps: u64) -> bool {
    seen <= limit && (seen <= SHORT_WALK || view.spend(steps))
}

/// The immediate subordinates, if there are no more than `limit`, and enough steps.
fn children(view: View<'_>, base: EntryId, limit: u64) -> Result<Option<IdSet>, StoreError> {
    let mut set = IdSet::Nothing;
    for (child, seen) in view.children(base)?.zip(1u64..) {
        if !goes_on(view, seen, limit, NAME_STEPS) {
            return Ok(None);
        }
        set.insert(child?);
    }
    Ok(Some(set))
}

/// The subtree, if there are no more than `limit` entries in it, and enough steps.
fn subtree(view: View<'_>, base: EntryId, scope: DitScope, limit: u64) -> Result<Option<IdSet>, StoreError> {
    let mut set = IdSet::Nothing;
    let mut queue = vec![base];
    let mut seen = 0u64;
    while let Some(entry) = queue.pop() {
        for child in view.children(entry)? {
            seen += 1;
            if !goes_on(view, seen, limit, BRANCH_STEPS) {
                return Ok(None);
            }
            let child = child?;
            set.insert(child);
            queue.push(child);
        }
    }
    if scope == DitScope::Subtree && base != 0 {
        set.insert(base);
    }
    Ok(Some(set))
}

impl View<'_> {
    /// Whether all entries are below `base`: it is the only topmost entry, or the root.
    pub(crate) fn is_everything(&self, base: EntryId) -> Result<bool, StoreError> {
        if base == 0 {
            return Ok(true);
        }
        let header = self
            .record_bytes(base)?
            .and_then(|mut bytes| codec::take_header(&mut bytes));
        let Some(header) = header.filter(|header| header.parent == 0) else {
            return Ok(false);
        };
        let topmost = self
            .tables()
            .names
            .prefix_iter(self.txn, varint::Key::new(0).bytes())?
            .take(2)
            .count();
        Ok(topmost == 1 || header.rdn.is_empty())
    }
}
