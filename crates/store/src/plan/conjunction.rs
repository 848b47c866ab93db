//! Posting lists whose common IDs are the candidates. They are read side by side while candidates are asked for, so that a search
//! costs what it is answered with, and holds none of them in memory.

use smallvec::SmallVec;

use crate::{
    EntryId, StoreError, View,
    posting::{
        Cursor, IdSet, ListName,
        list::{self, Estimate},
    },
};

/// One or more lists, the shortest first.
#[derive(Clone, Debug)]
pub(crate) struct Conjunction {
    lists: Vec<(ListName, Estimate)>,
}

/// A list that is this many times as long as the shortest spares too little.
const LONGER: u64 = 40;
/// Octets of lists whose reading costs about as much as verifying a candidate.
const WORTH: u64 = 200;
/// Candidates that a list is trusted to spare before it has spared any.
const CREDIT: u64 = 4;
/// IDs that are kept at most to be looked for in further lists.
const MOST_PENDING: usize = 1 << 16;
/// No list is put aside.
const UNLIMITED_CREDIT: u64 = u64::MAX / 2;

impl Conjunction {
    /// One list.
    pub(super) fn one(list: ListName, estimate: Estimate) -> Self {
        Self {
            lists: vec![(list, estimate)],
        }
    }
    /// What both have in common.
    pub(super) fn and(&mut self, other: Self) {
        for list in other.lists {
            if !self.lists.iter().any(|known| known.0 == list.0) {
                self.lists.push(list);
            }
        }
        self.lists.sort_by_key(|list| list.1.count);
        let longest = self.estimate().saturating_mul(LONGER).max(LONGER);
        self.lists.retain(|list| list.1.count <= longest);
    }
    /// Number of IDs, or rather more.
    pub(super) fn estimate(&self) -> u64 {
        self.lists.first().map_or(0, |list| list.1.count)
    }
    /// Whether the estimate is exact.
    pub(super) fn is_counted(&self) -> bool {
        matches!(self.lists.as_slice(), [(_, estimate)] if estimate.complete)
    }
    /// Whether there are more than `limit` IDs.
    pub(super) fn exceeds(&self, view: View<'_>, limit: u64) -> Result<bool, StoreError> {
        // The shortest alone may tell it, without its IDs being read.
        let Some((shortest, estimate)) = self.lists.first() else {
            return Ok(false);
        };
        let fits = estimate.complete && estimate.count <= limit;
        if fits || !list::exceeds(view.txn, &view.tables().index, shortest, limit)? {
            return Ok(false);
        }
        if self.lists.len() == 1 {
            return Ok(true);
        }
        self.common(view, UNLIMITED_CREDIT).exceed(limit)
    }
    /// All IDs.
    pub(super) fn read(&self, view: View<'_>) -> Result<IdSet, StoreError> {
        let mut set = IdSet::Nothing;
        if let [(only, _)] = self.lists.as_slice() {
            list::read_into(view.txn, &view.tables().index, only, &mut set)?;
            return Ok(set);
        }
        let (mut common, mut after) = (self.open(view), 0);
        while let Some(id) = common.next(after)? {
            set.insert(id);
            after = id;
        }
        Ok(set)
    }
    /// Takes from a set what is not in the lists, as far as that costs less than its verification.
    pub(super) fn narrow(&self, view: View<'_>, set: &IdSet) -> Result<IdSet, StoreError> {
        let (mut common, mut kept) = (self.open(view), IdSet::Nothing);
        for id in set.ids_after(0) {
            if common.holds(id)? {
                kept.insert(id);
            }
        }
        Ok(kept)
    }
    /// A reader before the first ID.
    pub(super) fn open<'t>(&self, view: View<'t>) -> Common<'t> {
        self.common(view, CREDIT)
    }
    fn common<'t>(&self, view: View<'t>, credit: u64) -> Common<'t> {
        let open = |list: &(ListName, Estimate)| Member {
            cursor: Cursor::new(view.txn, view.tables().index, list.0.clone()),
            spared: credit,
        };
        Common {
            members: self.lists.iter().map(open).collect(),
        }
    }
}

/// Reads the IDs that are in all lists.
pub(crate) struct Common<'t> {
    members: SmallVec<[Member<'t>; 1]>,
}

struct Member<'t> {
    cursor: Cursor<'t>,
    /// Candidates that need not be verified because of this list.
    spared: u64,
}

impl Member<'_> {
    /// Whether its list has spared as much as it has cost; what it does not, verification does.
    fn pays(&self) -> bool {
        self.cursor.work() <= self.spared.saturating_mul(WORTH)
    }
}

impl Common<'_> {
    /// The first common ID above `after`, which must not fall.
    pub(crate) fn next(&mut self, after: EntryId) -> Result<Option<EntryId>, StoreError> {
        common_to(&mut self.members, after)
    }
    /// Whether an ID is in all lists that are worth their reading. What is asked for must not fall.
    fn holds(&mut self, id: EntryId) -> Result<bool, StoreError> {
        all_hold(&mut self.members, id)
    }
    /// Whether there are more common IDs than `limit`. No more lists are read than show that there are not, and none further than shows
    /// that there are.
    fn exceed(&mut self, limit: u64) -> Result<bool, StoreError> {
        let Some((two, rest)) = self.members.split_at_mut_checked(2) else {
            return Ok(false);
        };
        let (mut after, mut count) = (0, 0u64);
        // Common to the first two, and not looked for in the rest.
        let mut pending: Vec<EntryId> = Vec::new();
        loop {
            while count + pending.len() as u64 <= limit && pending.len() < MOST_PENDING {
                let Some(id) = common_to(two, after)? else {
                    return Ok(false);
                };
                after = id;
                pending.push(id);
            }
            for id in pending.drain(..) {
                count += u64::from(all_hold(rest, id)?);
            }
            if count > limit {
                return Ok(true);
            }
        }
    }
}

/// The first ID above `after` that is in all lists.
fn common_to(members: &mut [Member<'_>], after: EntryId) -> Result<Option<EntryId>, StoreError> {
    let (Some(mut from), Some((lead, others))) = (after.checked_add(1), members.split_first_mut()) else {
        return Ok(None);
    };
    'proposed: while let Some(id) = lead.cursor.at_or_after(from)? {
        for other in others.iter_mut().filter(|other| other.pays()) {
            match other.cursor.at_or_after(id)? {
                None => return Ok(None),
                Some(found) if found == id => {}
                Some(found) => {
                    other.spared += 1;
                    from = found;
                    continue 'proposed;
                }
            }
        }
        return Ok(Some(id));
    }
    Ok(None)
}

/// Whether all lists hold an ID.
fn all_hold(members: &mut [Member<'_>], id: EntryId) -> Result<bool, StoreError> {
    for member in members.iter_mut().filter(|member| member.pays()) {
        if member.cursor.at_or_after(id)? != Some(id) {
            member.spared += 1;
            return Ok(false);
        }
    }
    Ok(true)
}
