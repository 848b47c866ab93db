//! Shared value sets: content that many records repeat is stored once and held in memory.
//!
//! `sets` maps a varint number to the concatenated TLVs. Numbers are given out from 0 and content never changes, so the
//! mirror in memory only grows. It is ahead of the file while a transaction is open, and stays ahead if the transaction
//! is dropped. The next commit writes the missing sets, so a number always means the same set.

use heed::{RoTxn, RwTxn};
use rustc_hash::FxHashMap;

use crate::{StoreError, hash, tables::Tables, varint};

/// Limit of the number of sets.
const MAX_SETS: usize = 65_536;
/// Limit of their total length in bytes: they stay in memory.
const MAX_TOTAL: usize = 32 << 20;
/// A set is shared once its repetitions have cost this many bytes.
const ADMISSION_COST: u32 = 256;
/// Bytes that a reference takes in a record.
const REFERENCE: usize = 3;
/// Slots of the table that counts repetitions.
const SLOTS: usize = 1 << 16;

/// The mirror in memory; readers resolve references in it.
#[derive(Default)]
pub(crate) struct SharedSets {
    sets: boxcar::Vec<Box<[u8]>>,
}

impl SharedSets {
    /// The TLVs of a set.
    #[inline]
    pub(crate) fn tlvs(&self, number: u64) -> Option<&[u8]> {
        self.sets.get(usize::try_from(number).ok()?).map(|tlvs| &**tlvs)
    }
    /// Number of sets.
    pub(crate) fn count(&self) -> usize {
        self.sets.count()
    }
    /// Loads the sets that the file has and the mirror lacks. The caller holds the writer's lock or is the only user.
    pub(crate) fn load(&self, txn: &RoTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        let start = varint::Key::new(self.count() as u64);
        let from = (std::ops::Bound::Included(start.bytes()), std::ops::Bound::Unbounded);
        for row in tables.sets.range(txn, &from)? {
            let (key, row) = row?;
            let number = self.count() as u64;
            if varint::read(key) != Some(number) {
                return Err(StoreError::damaged("the numbers of `sets` have a gap"));
            }
            let tlvs = tables.unseal(number, row);
            let tlvs = tlvs.ok_or_else(|| StoreError::damaged(&format!("shared value set {number}")))?;
            self.sets.push(tlvs.into());
        }
        Ok(())
    }
}

/// The writer's side: decides which sets become shared.
#[derive(Default)]
pub(crate) struct SetWriter {
    numbers: FxHashMap<u64, u64>,
    indexed: usize,
    total: usize,
    /// (tag, cost) by hash; new content replaces old content that does not recur.
    costs: Vec<(u32, u32)>,
}

impl SetWriter {
    /// Indexes the sets that the mirror got from the file.
    pub(crate) fn begin(&mut self, mirror: &SharedSets) {
        while self.indexed < mirror.count() {
            if let Some(tlvs) = mirror.tlvs(self.indexed as u64) {
                self.numbers.insert(hash::value_hash(tlvs), self.indexed as u64);
                self.total += tlvs.len();
            }
            self.indexed += 1;
        }
    }
    /// The number of a shared set with this content. Content that has recurred often enough becomes shared now. `hash`
    /// is [`hash::value_hash`] of the content.
    pub(crate) fn number(&mut self, mirror: &SharedSets, tlvs: &[u8], hash: u64) -> Option<u64> {
        if tlvs.len() <= REFERENCE + 1 {
            return None;
        }
        if self.numbers.contains_key(&hash) {
            return self.known(mirror, tlvs, hash);
        }
        if !self.has_recurred(hash, tlvs.len()) || mirror.count() >= MAX_SETS || self.total + tlvs.len() > MAX_TOTAL {
            return None;
        }
        let number = mirror.sets.push(tlvs.into()) as u64;
        self.begin(mirror);
        Some(number)
    }
    /// The number of a set that is shared already. Use it for a set that is written again without being a repetition:
    /// its record is rewritten.
    pub(crate) fn known(&self, mirror: &SharedSets, tlvs: &[u8], hash: u64) -> Option<u64> {
        let number = *self.numbers.get(&hash)?;
        (mirror.tlvs(number) == Some(tlvs)).then_some(number)
    }
    /// Counts a repetition. Returns whether its cost has passed the threshold.
    fn has_recurred(&mut self, hash: u64, length: usize) -> bool {
        if self.costs.is_empty() {
            self.costs = vec![(0, 0); SLOTS];
        }
        let [tag @ .., _, _, high, low] = hash.to_be_bytes();
        let tag = u32::from_be_bytes(tag) | 1;
        let Some(slot) = self.costs.get_mut(usize::from(u16::from_be_bytes([high, low]))) else {
            return false;
        };
        let cost = u32::try_from(length.saturating_sub(REFERENCE)).unwrap_or(u32::MAX);
        if slot.0 == tag {
            slot.1 = slot.1.saturating_add(cost);
            return slot.1 >= ADMISSION_COST;
        }
        // Other content has the slot: it loses half of its count or, if none is left, the slot.
        if slot.1 > 0 {
            slot.1 /= 2;
        } else {
            *slot = (tag, 0);
        }
        false
    }
}

impl SharedSets {
    /// Writes the sets that the mirror has and the file lacks: part of every commit.
    pub(crate) fn store(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        let stored = tables.sets.len(txn)?;
        for number in stored..self.count() as u64 {
            if let Some(tlvs) = self.tlvs(number) {
                tables.put_sealed(txn, &tables.sets, number, tlvs)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(writer: &mut SetWriter, mirror: &SharedSets, tlvs: &[u8]) -> Option<u64> {
        writer.number(mirror, tlvs, hash::value_hash(tlvs))
    }

    #[test]
    fn a_set_is_shared_when_it_has_cost_enough() {
        let (mirror, mut writer) = (SharedSets::default(), SetWriter::default());
        let set = [4u8; 100];
        assert_eq!(number(&mut writer, &mirror, &set), None);
        assert_eq!(number(&mut writer, &mirror, &set), None);
        assert_eq!(number(&mut writer, &mirror, &set), None);
        assert_eq!(number(&mut writer, &mirror, &set), Some(0));
        assert_eq!(number(&mut writer, &mirror, &set), Some(0));
        assert_eq!(mirror.tlvs(0), Some(&set[..]));
    }

    #[test]
    fn small_and_single_sets_are_not_shared() {
        let (mirror, mut writer) = (SharedSets::default(), SetWriter::default());
        for i in 0..1000u32 {
            assert_eq!(number(&mut writer, &mirror, b"\x04\x02ab"), None);
            assert_eq!(number(&mut writer, &mirror, &i.to_be_bytes().repeat(30)), None);
        }
    }
}
