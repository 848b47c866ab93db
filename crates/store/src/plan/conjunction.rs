//! Posting lists whose common IDs are the candidates. They are read side by side, only as far as candidates are asked
//! for. So a search costs no more than its answer, and no list is held in memory.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_model::Budget;
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
/// Candidates that a list is expected to spare before it has spared any.
const CREDIT: u64 = 4;
/// IDs of the shortest list that are looked for in the others together, at first and at most.
const AT_ONCE: usize = 64;
/// Candidates that are read ahead for the first slice of a search.
const AT_FIRST: usize = 32;
/// Candidates that are read ahead for later slices.
const LATER: usize = 128;
/// See [`AT_ONCE`].
const MOST_AT_ONCE: usize = 4096;
/// IDs that are kept at most to be looked for in further lists.
const MOST_PENDING: usize = 1 << 16;
/// With this credit no list is put aside.
const UNLIMITED_CREDIT: u64 = u64::MAX / 2;

/// Steps for reading this many IDs and looking for them in other lists.
fn cost_of_reading(ids: usize) -> u64 {
    1 + (ids / 16) as u64
}

impl Conjunction {
    /// One list.
    pub(super) fn one(list: ListName, estimate: Estimate) -> Self {
        Self {
            lists: vec![(list, estimate)],
        }
    }
    /// The IDs that both have in common.
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
    /// Number of IDs, or a greater number.
    pub(super) fn estimate(&self) -> u64 {
        self.lists.first().map_or(0, |list| list.1.count)
    }
    /// Whether the estimate is exact.
    pub(super) fn is_counted(&self) -> bool {
        matches!(self.lists.as_slice(), [(_, estimate)] if estimate.complete)
    }
    /// Whether there are more than `limit` IDs.
    pub(super) fn exceeds(&self, view: View<'_>, limit: u64) -> Result<bool, StoreError> {
        // The shortest list alone may decide, without reading its IDs.
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
        let (mut common, mut after, mut ids) = (self.open(view), 0, Vec::new());
        loop {
            after = common.next(after, &mut ids)?;
            if ids.is_empty() {
                return Ok(set);
            }
            for &id in &ids {
                set.insert(id);
            }
        }
    }
    /// Removes from a set the IDs that are not in the lists, while that costs less than verifying them.
    pub(super) fn narrow(&self, view: View<'_>, set: &IdSet) -> Result<IdSet, StoreError> {
        let (mut common, mut kept) = (self.open(view), IdSet::Nothing);
        let (mut rest, mut ids) = (set.ids_after(0), Vec::new());
        loop {
            ids.extend(rest.by_ref().take(AT_ONCE));
            if ids.is_empty() {
                return Ok(kept);
            }
            if !view.spend(cost_of_reading(ids.len())) {
                return Ok(kept);
            }
            for member in &mut common.members {
                member.sift(&mut ids)?;
            }
            for id in ids.drain(..) {
                kept.insert(id);
            }
        }
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
            budget: view.budget,
            members: self.lists.iter().map(open).collect(),
        }
    }
}

/// IDs that were read from a plan's lists beyond the slice that wanted them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead(Arc<Mutex<Batch>>);

#[derive(Debug, Default)]
struct Batch {
    /// The lists have been read from above this ID
    after: EntryId,
    /// to this one.
    reached: EntryId,
    ids: Vec<EntryId>,
}

impl Ahead {
    /// The IDs above `after`, and the ID up to which the lists have been read for that.
    pub(super) fn rest(&self, after: EntryId) -> (Vec<EntryId>, EntryId) {
        let batch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if after < batch.after || batch.reached <= after {
            return (Vec::new(), after);
        }
        let from = batch.ids.partition_point(|&id| id <= after);
        (batch.ids.get(from..).unwrap_or_default().to_vec(), batch.reached)
    }
    /// Keeps the IDs that were read between `after` and `reached`.
    pub(super) fn keep(&self, after: EntryId, reached: EntryId, ids: &[EntryId]) {
        let mut batch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (batch.after, batch.reached) = (after, reached);
        batch.ids.clear();
        batch.ids.extend_from_slice(ids);
    }
}

/// Reads the IDs that are in all lists.
pub(crate) struct Common<'t> {
    budget: Option<&'t Budget>,
    members: SmallVec<[Member<'t>; 1]>,
}

struct Member<'t> {
    cursor: Cursor<'t>,
    /// Candidates that need not be verified because of this list.
    spared: u64,
}

impl Member<'_> {
    /// Removes from ascending IDs those that are not in the list. It does nothing if the list has spared less work than
    /// it has cost: verification then removes these IDs.
    fn sift(&mut self, ids: &mut Vec<EntryId>) -> Result<(), StoreError> {
        if ids.is_empty() || self.cursor.work() > self.spared.saturating_mul(WORTH) {
            return Ok(());
        }
        let before = ids.len();
        self.cursor.sift(ids)?;
        self.spared = self.spared.saturating_add((before - ids.len()) as u64);
        Ok(())
    }
}

impl Common<'_> {
    /// Replaces `ids` by the IDs above `after` that are in the first `taken` lists, from about `most` IDs of the
    /// shortest list. If `ids` is empty, there are no more. Returns the ID up to which the lists have been read.
    /// `after` must not fall between calls.
    fn read(
        &mut self,
        taken: usize,
        after: EntryId,
        most: usize,
        ids: &mut Vec<EntryId>,
    ) -> Result<EntryId, StoreError> {
        let (mut last, mut most) = (after, most);
        ids.clear();
        while let (Some(from), Some((lead, others))) = (last.checked_add(1), self.members.split_first_mut()) {
            // Nothing is lost: everything up to `last` has been looked at.
            if self.budget.is_some_and(|budget| !budget.spend(cost_of_reading(most))) {
                break;
            }
            lead.cursor.read(from, most, ids)?;
            let Some(&reached) = ids.last() else { break };
            last = reached;
            for other in others.iter_mut().take(taken - 1) {
                other.sift(ids)?;
            }
            if !ids.is_empty() {
                break;
            }
            most = (2 * most).min(MOST_AT_ONCE);
        }
        Ok(last)
    }
    /// Replaces `ids` by the next common IDs above `after`. If `ids` is empty, there are no more. Returns the ID up to
    /// which the lists have been read. `after` must not fall between calls.
    pub(crate) fn next(&mut self, after: EntryId, ids: &mut Vec<EntryId>) -> Result<EntryId, StoreError> {
        let enough = if after == 0 { AT_FIRST } else { LATER };
        let mut reached = self.read(self.members.len(), after, AT_ONCE, ids)?;
        let mut more = Vec::new();
        while !ids.is_empty() && ids.len() < enough {
            reached = self.read(self.members.len(), reached, AT_ONCE, &mut more)?;
            if more.is_empty() {
                break;
            }
            ids.append(&mut more);
        }
        Ok(reached)
    }
    /// Whether there are more common IDs than `limit`. Reads only as many lists, and only as far, as the answer needs.
    fn exceed(&mut self, limit: u64) -> Result<bool, StoreError> {
        let (mut after, mut count) = (0, 0u64);
        // IDs that are common to the first two lists, not yet looked for in the others.
        let (mut ids, mut pending) = (Vec::new(), Vec::new());
        loop {
            while count + pending.len() as u64 <= limit && pending.len() < MOST_PENDING {
                let missing = (limit - count).saturating_sub(pending.len() as u64);
                let most =
                    usize::try_from(missing).map_or(MOST_AT_ONCE, |missing| missing.clamp(AT_ONCE, MOST_AT_ONCE));
                after = self.read(2, after, most, &mut ids)?;
                if ids.is_empty() {
                    return Ok(false);
                }
                pending.append(&mut ids);
            }
            for member in self.members.iter_mut().skip(2) {
                member.sift(&mut pending)?;
            }
            count += pending.len() as u64;
            if count > limit {
                return Ok(true);
            }
            pending.clear();
        }
    }
}
