//! The entries of a sorted search with their keys: all keys lie in one piece of memory, so that much of it is had,
//! counted and given back at once.

use ironbark_model::{Budget, ResultCode};
use ironbark_store::EntryId;

use crate::{OperationError, room};

#[cfg(test)]
mod tests;

/// Entries that one search may hold to be sorted; past it the result is adminLimitExceeded.
const ENTRY_LIMIT: usize = 1_000_000;
/// Octets that one may hold, and all that wait for their next page on one connection.
pub(in crate::search) const LIMIT: usize = 256 << 20;
/// Entries that are sorted between two looks at what is left of the steps.
const SORTED_AT_ONCE: usize = 1 << 12;
/// Octets of the keys of an entry that are not worth counting, and octets past them that are in about one step written
/// or compared.
const SHORT: usize = 256;
const WRITTEN_PER_STEP: usize = 256;
const COMPARED_PER_STEP: usize = 1_024;

/// What stands before a key that an entry has, and for one that it has not: the latter sort last (RFC 2891 §2.2).
const THERE: u8 = 1;
const MISSING: u8 = 2;
/// What stands behind a key: less than all that may follow a zero octet in it, so that no key is the beginning of
/// another.
const END: [u8; 2] = [0, 0];
const ZERO: [u8; 2] = [0, 0xff];

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Collected {
    entries: Vec<Keyed>,
    /// The keys, in a form whose octets have their order.
    keys: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Keyed {
    /// Where its keys lie. 32 bits are more than the limit.
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

    /// The database and the number of an entry.
    pub(super) fn get(&self, at: usize) -> Option<(i32, EntryId)> {
        self.entries.get(at).map(|entry| (entry.context, entry.id))
    }

    /// Octets that are held.
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

    /// Whether there is memory to put them in order.
    ///
    /// # Errors
    /// There is not.
    pub(super) fn make_room_to_order(&self) -> Result<(), OperationError> {
        room::passing::<Keyed>(self.entries.len())
    }

    /// Puts them in order; what is equal stays in the order in which it came. Piece by piece, and then what is in order
    /// already as a whole; false when the steps do not suffice.
    pub(super) fn order(&mut self, budget: Option<&Budget>) -> bool {
        let Self { entries, keys } = self;
        let spend = |steps: u64| budget.is_none_or(|budget| budget.spend(steps));
        let mean = keys.len() / entries.len().max(1);
        let per_comparison = 1 + (mean / COMPARED_PER_STEP) as u64;
        // The comparisons of a piece, and those that put the pieces together.
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

    /// Lets go of all but the first.
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

    /// How many entries, which are in order, stand before those whose first key is not before this one; `None`: the
    /// steps do not suffice. `key` is in its order, as given to [`EntryKeys::add`].
    ///
    /// # Errors
    /// As of [`EntryKeys::add`].
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

    /// What is in order needs its keys no more.
    pub(super) fn forget_keys(&mut self) {
        self.keys = Vec::new();
    }
}

/// The keys of an entry that is about to be collected; they are taken back unless they are finished.
pub(super) struct EntryKeys<'c> {
    collected: &'c mut Collected,
    start: usize,
    is_done: bool,
}

impl EntryKeys<'_> {
    /// Adds the next key of the entry, if it has it.
    ///
    /// # Errors
    /// `adminLimitExceeded`: too many octets are held, or memory is short.
    pub(super) fn add(&mut self, key: Option<&Vec<u8>>, is_reverse: bool) -> Result<(), OperationError> {
        let length = key.map_or(0, Vec::len);
        // At most twice as many octets are written.
        if self.collected.octets().saturating_add(length.saturating_mul(2)) > LIMIT {
            return Err(too_much());
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

    /// Whether the steps suffice for what was added.
    pub(super) fn is_affordable(&self, budget: Option<&Budget>) -> bool {
        let written = self.collected.keys.len() - self.start;
        written <= SHORT || budget.is_none_or(|budget| budget.spend((written / WRITTEN_PER_STEP) as u64))
    }

    /// How many of the other entries, which are in order, stand before one of these keys: no key is the beginning of
    /// another, so that what follows the same key is not before it. `None`: the steps do not suffice.
    fn place(&self, budget: &Budget) -> Option<usize> {
        let Collected { entries, keys } = &*self.collected;
        let sought = keys.get(self.start..).unwrap_or_default();
        let per_comparison = 1 + (sought.len() / COMPARED_PER_STEP) as u64;
        let comparisons = u64::from((entries.len() + 1).ilog2() + 1);
        budget
            .spend(comparisons * per_comparison)
            .then(|| entries.partition_point(|entry| entry.keys(keys) < sought))
    }

    /// The entry is collected.
    ///
    /// # Errors
    /// `adminLimitExceeded`: there are too many, or memory is short.
    pub(super) fn finish(mut self, context: i32, id: EntryId) -> Result<(), OperationError> {
        let Collected { entries, keys } = &mut *self.collected;
        if entries.len() >= ENTRY_LIMIT {
            return Err(OperationError::new(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                "too many entries to sort",
            ));
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

fn offset(at: usize) -> Result<u32, OperationError> {
    u32::try_from(at).map_err(|_| too_much())
}

fn too_much() -> OperationError {
    OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, "too much to sort")
}
