//! The entries of a sorted search with their keys. All keys lie in one block of memory, so that large amounts are
//! reserved, counted and freed at once.

use ironbark_model::Budget;
use ironbark_store::EntryId;

use crate::{
    OperationError,
    refusal::{Failure, SortRefusal},
    room,
};

#[cfg(test)]
mod tests;

/// Entries that one search may collect for sorting. Beyond that the result is adminLimitExceeded.
const ENTRY_LIMIT: usize = 1_000_000;
/// Octets that one search may hold. All searches of one connection that wait for their next page may hold as much.
pub(in crate::search) const LIMIT: usize = 256 << 20;
/// Entries that are sorted between two looks at the budget.
const SORTED_AT_ONCE: usize = 1 << 12;
/// This many octets of an entry's keys are not counted as work. Below: octets beyond them that are written or compared
/// in about one step.
const SHORT: usize = 256;
const WRITTEN_PER_STEP: usize = 256;
const COMPARED_PER_STEP: usize = 1_024;

/// The octet before a key: present or missing. Entries without the key sort last (RFC 2891 §2.2).
const THERE: u8 = 1;
const MISSING: u8 = 2;
/// The octets after a key. They are less than the replacement of a zero octet within a key, so no key is a prefix of
/// another.
const END: [u8; 2] = [0, 0];
const ZERO: [u8; 2] = [0, 0xff];

/// The collected entries and their keys.
#[derive(Debug, Default)]
pub(super) struct Collected {
    entries: Vec<Keyed>,
    /// The keys, in a form whose octets sort in the order of the keys.
    keys: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Keyed {
    /// The place of its keys. 32 bits are enough for the limit.
    start: u32,
    end: u32,
    context: i32,
    id: EntryId,
}

impl Keyed {
    fn keys(self, all: &[u8]) -> &[u8] {
        all.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl Collected {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The database's number and the entry's ID.
    pub(super) fn get(&self, at: usize) -> Option<(i32, EntryId)> {
        self.entries.get(at).map(|entry| (entry.context, entry.id))
    }

    /// Gives the databases of the entries the numbers that they have now. False: an entry is in none of `known`.
    pub(super) fn renumber(&mut self, known: &[(i32, i32)]) -> bool {
        self.entries.iter_mut().all(|entry| {
            let found = known.iter().find(|(former, _)| *former == entry.context);
            found.is_some_and(|(_, now)| {
                entry.context = *now;
                true
            })
        })
    }

    /// Octets of memory.
    pub(super) fn octets(&self) -> usize {
        self.keys.len() + self.entries.len() * size_of::<Keyed>()
    }

    /// Begins the keys of another entry.
    pub(super) fn begin(&mut self) -> EntryKeys<'_> {
        EntryKeys {
            start: self.keys.len(),
            is_done: false,
            collected: self,
        }
    }

    /// Checks that there is memory for ordering.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn make_room_to_order(&self) -> Result<(), Failure> {
        room::passing::<Keyed>(self.entries.len())
    }

    /// Orders the entries; equal entries keep their order. Pieces are ordered first, and then put together. False: the
    /// steps do not suffice.
    pub(super) fn order(&mut self, budget: Option<&Budget>) -> bool {
        let Self { entries, keys } = self;
        let spend = |steps: u64| budget.is_none_or(|budget| budget.spend(steps));
        let mean = keys.len() / entries.len().max(1);
        let per_comparison = 1 + (mean / COMPARED_PER_STEP) as u64;
        // The comparisons within a piece, or those that put the pieces together.
        let steps = |count: usize, rounds: usize| {
            (count as u64)
                .saturating_mul(u64::from(rounds.max(1).ilog2()))
                .saturating_mul(per_comparison)
        };
        let is_affordable = entries.chunks_mut(SORTED_AT_ONCE).all(|piece| {
            let is_affordable = spend(steps(piece.len(), piece.len().max(2)));
            if is_affordable {
                piece.sort_by(|a, b| a.keys(keys).cmp(b.keys(keys)));
            }
            is_affordable
        });
        let pieces = entries.len().div_ceil(SORTED_AT_ONCE);
        if !is_affordable || !spend(steps(entries.len(), pieces)) {
            return false;
        }
        entries.sort_by(|a, b| a.keys(keys).cmp(b.keys(keys)));
        true
    }

    /// Keeps only the first `wanted` entries.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn truncate(&mut self, wanted: usize) -> Result<(), OperationError> {
        self.entries.truncate(wanted);
        let mut kept = Vec::new();
        room::make(
            &mut kept,
            self.entries.iter().map(|entry| entry.keys(&self.keys).len()).sum(),
        )?;
        for entry in &mut self.entries {
            let start = kept.len();
            kept.extend_from_slice(entry.keys(&self.keys));
            (entry.start, entry.end) = (offset(start)?, offset(kept.len())?);
        }
        self.keys = kept;
        Ok(())
    }

    /// The number of entries before those whose first key is not less than `key`. The entries must be in order. `key`
    /// has the form that [`EntryKeys::add`] takes. `None`: the steps do not suffice.
    ///
    /// # Errors
    /// The same as of [`EntryKeys::add`].
    pub(super) fn place_of(
        &mut self,
        key: &Vec<u8>,
        is_reverse: bool,
        budget: &Budget,
    ) -> Result<Option<usize>, OperationError> {
        let mut sought = self.begin();
        sought.add(Some(key), is_reverse)?;
        if !sought.is_affordable(Some(budget)) {
            return Ok(None);
        }
        Ok(sought.place(budget))
    }

    /// Frees the keys. They are not needed once the entries are in order.
    pub(super) fn forget_keys(&mut self) {
        self.keys = Vec::new();
    }
}

/// The keys of the next entry. They are removed again unless they are finished.
pub(super) struct EntryKeys<'c> {
    collected: &'c mut Collected,
    start: usize,
    is_done: bool,
}

impl EntryKeys<'_> {
    /// Adds the next key of the entry. `None`: the entry lacks it.
    ///
    /// # Errors
    /// `adminLimitExceeded`: too many octets are held, or memory is short.
    pub(super) fn add(&mut self, key: Option<&Vec<u8>>, is_reverse: bool) -> Result<(), OperationError> {
        let length = key.map_or(0, Vec::len);
        // Escapes at most double the length.
        if self.collected.octets().saturating_add(length.saturating_mul(2)) > LIMIT {
            return Err(SortRefusal::TooMuch.into());
        }
        let keys = &mut self.collected.keys;
        room::make(keys, 2 * length + 1 + END.len())?;
        let start = keys.len();
        match key {
            None => keys.push(MISSING),
            Some(key) => {
                keys.push(THERE);
                let mut parts = key.split(|octet| *octet == 0);
                keys.extend_from_slice(parts.next().unwrap_or_default());
                for part in parts {
                    keys.extend_from_slice(&ZERO);
                    keys.extend_from_slice(part);
                }
                keys.extend_from_slice(&END);
            }
        }
        if is_reverse {
            for octet in keys.get_mut(start..).unwrap_or_default() {
                *octet = !*octet;
            }
        }
        Ok(())
    }

    /// Whether the steps suffice for the keys that were added.
    pub(super) fn is_affordable(&self, budget: Option<&Budget>) -> bool {
        let written = self.collected.keys.len() - self.start;
        written <= SHORT || budget.is_none_or(|budget| budget.spend((written / WRITTEN_PER_STEP) as u64))
    }

    /// The number of ordered entries before these keys. No key is a prefix of another, so an entry with further keys
    /// after the same first key is not before them. `None`: the steps do not suffice.
    fn place(&self, budget: &Budget) -> Option<usize> {
        let Collected { entries, keys } = &*self.collected;
        let sought = keys.get(self.start..).unwrap_or_default();
        let per_comparison = 1 + (sought.len() / COMPARED_PER_STEP) as u64;
        let comparisons = u64::from((entries.len() + 1).ilog2() + 1);
        budget
            .spend(comparisons * per_comparison)
            .then(|| entries.partition_point(|entry| entry.keys(keys) < sought))
    }

    /// Collects the entry.
    ///
    /// # Errors
    /// `adminLimitExceeded`: there are too many, or memory is short.
    pub(super) fn finish(mut self, context: i32, id: EntryId) -> Result<(), OperationError> {
        let Collected { entries, keys } = &mut *self.collected;
        if entries.len() >= ENTRY_LIMIT {
            return Err(SortRefusal::TooManyEntries.into());
        }
        room::make(entries, 1)?;
        entries.push(Keyed {
            start: offset(self.start)?,
            end: offset(keys.len())?,
            context,
            id,
        });
        self.is_done = true;
        Ok(())
    }
}

impl Drop for EntryKeys<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.collected.keys.truncate(self.start);
        }
    }
}

fn offset(at: usize) -> Result<u32, SortRefusal> {
    u32::try_from(at).map_err(|_| SortRefusal::TooMuch)
}
