//! A set of candidate entry IDs in memory: nothing, one, a short list, a bitmap, or all but a few.

use roaring::RoaringTreemap;
use smallvec::SmallVec;

use super::reader;
use crate::EntryId;

/// IDs that a short list holds before it becomes a bitmap.
const SHORT: usize = 16;

/// A few ascending IDs. More than four take memory: a plan is moved more often than a filter has five to sixteen
/// entries.
pub(crate) type FewIds = SmallVec<[EntryId; 4]>;

/// Octets of a chunk whose IDs are added one by one.
const FEW_OCTETS: usize = 4;

/// Length from which on a run is added as such.
const LONG_RUN: u64 = 64;

/// Adds ascending IDs. Posting lists are read in ascending order, so they usually belong at the end.
fn add_ascending(ids: &mut RoaringTreemap, more: &[EntryId]) {
    if ids.append(more.iter().copied()).is_err() {
        ids.extend(more.iter().copied());
    }
}

/// Entry IDs.
#[derive(Clone, Debug, Default)]
pub(crate) enum IdSet {
    /// None.
    #[default]
    Nothing,
    /// One: the usual answer of an equality index; takes no memory.
    One(EntryId),
    /// A few, ascending.
    Short(FewIds),
    /// Many.
    Many(RoaringTreemap),
}

impl IdSet {
    /// Number of IDs.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::One(_) => 1,
            Self::Short(ids) => ids.len() as u64,
            Self::Many(ids) => ids.len(),
        }
    }
    /// Membership.
    pub(crate) fn contains(&self, id: EntryId) -> bool {
        match self {
            Self::Nothing => false,
            Self::One(one) => *one == id,
            Self::Short(ids) => ids.binary_search(&id).is_ok(),
            Self::Many(ids) => ids.contains(id),
        }
    }
    /// Adds an ID.
    pub(crate) fn insert(&mut self, id: EntryId) -> bool {
        match self {
            Self::Nothing => {
                *self = Self::One(id);
                true
            }
            Self::One(one) if *one == id => false,
            Self::One(one) => {
                let (low, high) = (id.min(*one), id.max(*one));
                *self = Self::Short(SmallVec::from_slice(&[low, high]));
                true
            }
            Self::Short(ids) => {
                let Err(at) = ids.binary_search(&id) else { return false };
                if ids.len() < SHORT {
                    ids.insert(at, id);
                } else {
                    self.become_many().insert(id);
                }
                true
            }
            Self::Many(ids) => ids.insert(id),
        }
    }
    /// Adds an inclusive run.
    pub(crate) fn insert_run(&mut self, from: EntryId, to: EntryId) {
        if to.saturating_sub(from) < 4 {
            for id in from..=to {
                self.insert(id);
            }
        } else {
            self.become_many().insert_range(from..=to);
        }
    }
    /// Adds the IDs of a posting chunk. `None`: damaged.
    pub(crate) fn insert_chunk(&mut self, first: EntryId, value: &[u8]) -> Option<()> {
        // In a stretch of an index with many values, most chunks have one ID, and IDs come in any order.
        let is_short = value.len() <= FEW_OCTETS || value.len() <= 8 * SHORT && !matches!(self, Self::Many(_));
        if is_short {
            return reader::visit(first, value, |from, to| self.insert_run(from, to));
        }
        // A bitmap takes many IDs together for a tenth of what they cost one by one.
        let (ids, mut together) = (self.become_many(), Vec::with_capacity(value.len() + 1));
        reader::visit(first, value, |from, to| {
            if to - from < LONG_RUN {
                together.extend(from..=to);
            } else {
                add_ascending(ids, &together);
                together.clear();
                ids.insert_range(from..=to);
            }
        })?;
        add_ascending(ids, &together);
        Some(())
    }
    /// The IDs as a bitmap.
    pub(crate) fn into_treemap(mut self) -> RoaringTreemap {
        std::mem::take(self.become_many())
    }
    /// The IDs of a bitmap.
    pub(crate) fn of_treemap(ids: RoaringTreemap) -> Self {
        if ids.len() > SHORT as u64 {
            return Self::Many(ids);
        }
        let mut set = Self::Nothing;
        for id in ids {
            set.insert(id);
        }
        set
    }
    fn become_many(&mut self) -> &mut RoaringTreemap {
        loop {
            match self {
                Self::Many(ids) => return ids,
                Self::Nothing => *self = Self::Many(RoaringTreemap::new()),
                Self::One(one) => *self = Self::Many(std::iter::once(*one).collect()),
                Self::Short(ids) => *self = Self::Many(ids.iter().copied().collect()),
            }
        }
    }
    /// Union.
    pub(crate) fn unite(&mut self, other: Self) {
        match other {
            Self::Nothing => {}
            Self::One(id) => {
                self.insert(id);
            }
            Self::Short(ids) => {
                for id in ids {
                    self.insert(id);
                }
            }
            Self::Many(ids) => *self.become_many() |= ids,
        }
    }
    /// Intersection.
    pub(crate) fn intersect(&mut self, other: &Self) {
        match self {
            Self::Nothing => {}
            Self::One(id) => {
                if !other.contains(*id) {
                    *self = Self::Nothing;
                }
            }
            Self::Short(ids) => ids.retain(|id| other.contains(*id)),
            Self::Many(ids) => {
                if let Self::Many(other) = other {
                    *ids &= other;
                } else {
                    let mut kept = Self::Nothing;
                    for id in other.ids_after(0).filter(|id| ids.contains(*id)) {
                        kept.insert(id);
                    }
                    *self = kept;
                }
            }
        }
    }
    /// Removes IDs.
    pub(crate) fn subtract(&mut self, other: &Self) {
        match self {
            Self::Nothing => {}
            Self::One(id) => {
                if other.contains(*id) {
                    *self = Self::Nothing;
                }
            }
            Self::Short(ids) => ids.retain(|id| !other.contains(*id)),
            Self::Many(ids) => {
                if let Self::Many(other) = other {
                    *ids -= other;
                } else {
                    for id in other.ids_after(0) {
                        ids.remove(id);
                    }
                }
            }
        }
    }
    /// The IDs above `after`, ascending.
    pub(crate) fn ids_after(&self, after: EntryId) -> Ids<'_> {
        match self {
            Self::Nothing => Ids::Slice([].iter()),
            Self::One(id) => Ids::Slice(if *id > after {
                std::slice::from_ref(id).iter()
            } else {
                [].iter()
            }),
            Self::Short(ids) => {
                let from = ids.partition_point(|&id| id <= after);
                Ids::Slice(ids.get(from..).unwrap_or_default().iter())
            }
            Self::Many(ids) => {
                let mut iter = ids.iter();
                match after.checked_add(1) {
                    Some(from) => iter.advance_to(from),
                    None => return Ids::Slice([].iter()),
                }
                Ids::Bitmap(Box::new(iter))
            }
        }
    }
}

/// Ascending IDs of a set.
pub(crate) enum Ids<'s> {
    /// Of a short set.
    Slice(std::slice::Iter<'s, EntryId>),
    /// Of a bitmap.
    Bitmap(Box<roaring::treemap::Iter<'s>>),
}

impl Iterator for Ids<'_> {
    type Item = EntryId;
    fn next(&mut self) -> Option<EntryId> {
        match self {
            Self::Slice(ids) => ids.next().copied(),
            Self::Bitmap(ids) => ids.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set_of(ids: &BTreeSet<u64>) -> IdSet {
        let mut set = IdSet::Nothing;
        for &id in ids {
            set.insert(id);
        }
        set
    }

    fn ids() -> impl Strategy<Value = BTreeSet<u64>> {
        prop_oneof![
            proptest::collection::btree_set(1u64..40, 0..8),
            proptest::collection::btree_set(1u64..400, 0..100),
            proptest::collection::btree_set(1u64..1 << 40, 0..30),
        ]
    }

    proptest! {
        #[test]
        fn operations_are_those_of_sets(a in ids(), b in ids(), after in 0u64..50) {
            let mut union = set_of(&a);
            union.unite(set_of(&b));
            prop_assert_eq!(union.ids_after(0).collect::<BTreeSet<_>>(), a.union(&b).copied().collect());
            let mut both = set_of(&a);
            both.intersect(&set_of(&b));
            prop_assert_eq!(both.ids_after(0).collect::<BTreeSet<_>>(), a.intersection(&b).copied().collect());
            let mut rest = set_of(&a);
            rest.subtract(&set_of(&b));
            prop_assert_eq!(rest.ids_after(after).collect::<Vec<_>>(),
                a.difference(&b).copied().filter(|&id| id > after).collect::<Vec<_>>());
        }
    }
}
