//! Shared value sets: content that many records repeat is stored once and held in memory.
//!
//! `sets` maps the number of a set to the concatenated TLVs. Sets have positions from 0 without gaps. A number has the
//! position and a check: the last byte of the XXH3 of the content. So a reference to other content is found. Up to
//! format 4 a number was the position alone; those sets keep their numbers.
//!
//! Invariant: [`SharedSets`] is an immutable value that has the sets of one commit. An open write transaction has a
//! value of its own, which is published with the commit or dropped with the transaction. So only a commit gives
//! numbers.

use std::sync::Arc;

use heed::{RoTxn, RwTxn};
use ironbark_model::number_map::NumberMap;

use crate::{StoreError, hash, tables::Tables, varint};

/// Limit of the number of sets.
const MAX_SETS: usize = 65_536;
/// Limit of their total length in bytes: they stay in memory.
const MAX_TOTAL: usize = 32 << 20;
/// A set is shared once its repetitions have cost this many bytes.
const ADMISSION_COST: u32 = 256;
/// Bytes that a reference takes in a record behind the number of the attribute, unless there are many sets.
const REFERENCE: usize = 3;
/// Slots of the table that counts repetitions.
const SLOTS: usize = 1 << 16;
/// Keys of `sets` below this are positions.
const FIRST_CHECKED: u64 = 65_536;
/// Sets that one commit copies at most to add another one.
const CHUNK: usize = 256;

/// The number of a shared set: its position and the check.
///
/// The lowest octet is the check, and the next two are the position. So the octets of a reference in a record are
/// those of the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SetNumber(u32);

impl SetNumber {
    /// In the place of a check: the number is of format 4 or an older one, and has none.
    const UNCHECKED: u32 = 1 << 24;

    /// A number with a check, from octets with the lowest one first: the check and two of the position.
    #[inline]
    pub(crate) fn from_octets([check, low, high]: [u8; 3]) -> Self {
        Self(u32::from_le_bytes([check, low, high, 0]))
    }
    /// The same. `None`: the number has no check.
    pub(crate) fn octets(self) -> Option<[u8; 3]> {
        let [octets @ .., of_format_4] = self.0.to_le_bytes();
        (of_format_4 == 0).then_some(octets)
    }
    /// The number of a set at a position. `None`: the position is too high.
    fn of(position: usize, tlvs: &[u8]) -> Option<Self> {
        let [.., check] = hash::value_hash(tlvs).to_be_bytes();
        let [low, high] = u16::try_from(position).ok()?.to_le_bytes();
        Some(Self::from_octets([check, low, high]))
    }
    /// The set and an attribute in one number.
    #[inline]
    pub(crate) fn with_attribute(self, attribute: u16) -> u64 {
        u64::from(self.0) << 16 | u64::from(attribute)
    }
    /// The position.
    #[inline]
    pub(crate) fn position(self) -> usize {
        usize::try_from((self.0 >> 8) & 0xffff).unwrap_or(usize::MAX)
    }
    /// What `sets` has as its key: (256 + position) * 256 + check, or the position alone.
    pub(crate) fn key(self) -> u64 {
        match self.octets() {
            Some(_) => FIRST_CHECKED + u64::from(self.0),
            None => self.position() as u64,
        }
    }
    /// The number with a key. `None`: there is none.
    #[inline]
    pub(crate) fn from_key(key: u64) -> Option<Self> {
        match key.checked_sub(FIRST_CHECKED) {
            Some(number) => {
                let number = u32::try_from(number).ok()?;
                (number < Self::UNCHECKED).then_some(Self(number))
            }
            None => Some(Self(Self::UNCHECKED | u32::try_from(key << 8).ok()?)),
        }
    }
}

/// A set.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SharedSet {
    number: SetNumber,
    tlvs: Arc<[u8]>,
}

/// The sets of one commit, or of an open write transaction. Values share what they have in common.
#[derive(Clone, Default, Debug)]
pub(crate) struct SharedSets {
    chunks: Vec<Arc<Vec<SharedSet>>>,
    count: usize,
}

impl SharedSets {
    /// The TLVs of a set. `None`: there is none with this number.
    #[inline]
    pub(crate) fn tlvs(&self, number: SetNumber) -> Option<&[u8]> {
        let set = self.at(number.position())?;
        (set.number == number).then_some(&*set.tlvs)
    }
    /// Number of sets.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
    #[inline]
    fn at(&self, position: usize) -> Option<&SharedSet> {
        self.chunks.get(position / CHUNK)?.get(position % CHUNK)
    }
    fn push(&mut self, number: SetNumber, tlvs: &[u8]) {
        let set = SharedSet {
            number,
            tlvs: tlvs.into(),
        };
        match self.chunks.last_mut() {
            Some(last) if !self.count.is_multiple_of(CHUNK) => Arc::make_mut(last).push(set),
            _ => self.chunks.push(Arc::new(vec![set])),
        }
        self.count += 1;
    }
    /// Adds the sets that the file has besides these. `true`: some were added. The last one that is known is compared
    /// with the file: another history has another one there.
    ///
    /// # Errors
    /// The file is damaged, or has other content under a number that is known.
    pub(crate) fn load(&mut self, txn: &RoTxn<'_>, tables: &Tables) -> Result<bool, StoreError> {
        let (known, mut position) = (self.count, self.count.saturating_sub(1));
        let last = self.at(position).map_or(0, |set| set.number.key());
        let start = varint::Key::new(last);
        let from = (std::ops::Bound::Included(start.bytes()), std::ops::Bound::Unbounded);
        for row in tables.sets.range(txn, &from)? {
            let (key, row) = row?;
            let key = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `sets`"))?;
            let damaged = || StoreError::damaged(&format!("shared value set {key}"));
            let number = SetNumber::from_key(key).ok_or_else(damaged)?;
            let tlvs = tables.unseal(key, row).ok_or_else(damaged)?;
            self.take_up(position, number, tlvs)?;
            position += 1;
        }
        if position < known {
            return Err(StoreError::damaged("shared value sets are gone"));
        }
        Ok(position > known)
    }
    /// Takes up the set that the file has at a position: compares it with the known one, or adds it.
    ///
    /// # Errors
    /// As [`SharedSets::load`].
    pub(crate) fn take_up(&mut self, position: usize, number: SetNumber, tlvs: &[u8]) -> Result<(), StoreError> {
        if number.position() != position {
            return Err(StoreError::damaged("the numbers of `sets` have a gap"));
        }
        let damaged = |what| StoreError::damaged(&format!("shared value set {}{what}", number.key()));
        if number.octets().is_some() && SetNumber::of(position, tlvs) != Some(number) {
            return Err(damaged(""));
        }
        match self.at(position) {
            Some(set) if set.number == number && *set.tlvs == *tlvs => {}
            Some(_) => return Err(damaged(" has changed")),
            None => self.push(number, tlvs),
        }
        Ok(())
    }
    /// Writes the sets from a position on.
    pub(crate) fn store(&self, from: usize, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        for set in (from..self.count).filter_map(|position| self.at(position)) {
            tables.put_sealed(txn, &tables.sets, set.number.key(), &set.tlvs)?;
        }
        Ok(())
    }
}

/// The writer's memory: which sets are shared, and which content recurs.
#[derive(Default)]
pub(crate) struct SetWriter {
    /// Numbers of sets by the hash of their content. Clients choose content, but cannot watch single look-ups: a write
    /// has many, and a commit.
    numbers: NumberMap<SetNumber>,
    /// Sets of the last commit that are in `numbers`.
    indexed: usize,
    /// Their length.
    total: usize,
    /// (tag, cost) by hash; new content replaces old content that does not recur.
    costs: Vec<(u32, u32)>,
}

impl SetWriter {
    /// Takes up the sets that were committed since the last call.
    fn index(&mut self, sets: &SharedSets) {
        for set in (self.indexed..sets.count()).filter_map(|position| sets.at(position)) {
            self.numbers.insert(hash::value_hash(&set.tlvs), set.number);
            self.total += set.tlvs.len();
        }
        self.indexed = sets.count();
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

/// The sets of an open write transaction. `W` holds the writer's memory. Dropping this leaves that memory as it was.
pub(crate) struct OpenSets<W: std::ops::DerefMut<Target = SetWriter>> {
    writer: W,
    sets: Arc<SharedSets>,
    /// Sets that are committed.
    committed: usize,
    /// Hash and number of those that came after them.
    added: NumberMap<SetNumber>,
    added_length: usize,
}

impl<W: std::ops::DerefMut<Target = SetWriter>> OpenSets<W> {
    /// Begins with the sets of the last commit.
    pub(crate) fn new(mut writer: W, sets: Arc<SharedSets>) -> Self {
        writer.index(&sets);
        Self {
            writer,
            committed: sets.count(),
            sets,
            added: NumberMap::default(),
            added_length: 0,
        }
    }
    /// The sets, with those of this transaction.
    pub(crate) fn sets(&self) -> &Arc<SharedSets> {
        &self.sets
    }
    /// The number of a shared set with this content. Content that has recurred often enough becomes shared now. `hash`
    /// is [`hash::value_hash`] of the content.
    pub(crate) fn number(&mut self, tlvs: &[u8], hash: u64) -> Option<SetNumber> {
        if tlvs.len() <= REFERENCE + 1 {
            return None;
        }
        if self.of_hash(hash).is_some() {
            return self.known(tlvs, hash);
        }
        let has_room = self.sets.count() < MAX_SETS && self.length() + tlvs.len() <= MAX_TOTAL;
        if !self.writer.has_recurred(hash, tlvs.len()) || !has_room {
            return None;
        }
        let number = SetNumber::of(self.sets.count(), tlvs)?;
        Arc::make_mut(&mut self.sets).push(number, tlvs);
        self.added.insert(hash, number);
        self.added_length += tlvs.len();
        Some(number)
    }
    /// The number of a set that is shared already. Use it for a set that is written again without being a repetition:
    /// its record is rewritten.
    pub(crate) fn known(&self, tlvs: &[u8], hash: u64) -> Option<SetNumber> {
        let number = self.of_hash(hash)?;
        (self.sets.tlvs(number) == Some(tlvs)).then_some(number)
    }
    fn of_hash(&self, hash: u64) -> Option<SetNumber> {
        self.writer
            .numbers
            .get(&hash)
            .or_else(|| self.added.get(&hash))
            .copied()
    }
    fn length(&self) -> usize {
        self.writer.total + self.added_length
    }
    /// Writes the sets that came in this transaction: part of every commit.
    pub(crate) fn store(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        self.sets.store(self.committed, txn, tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: [u8; 100] = [4; 100];

    fn number(open: &mut OpenSets<&mut SetWriter>, tlvs: &[u8]) -> Option<SetNumber> {
        open.number(tlvs, hash::value_hash(tlvs))
    }

    fn until_it_is_shared(open: &mut OpenSets<&mut SetWriter>, tlvs: &[u8]) -> SetNumber {
        (0..100).find_map(|_| number(open, tlvs)).unwrap()
    }

    #[test]
    fn a_set_is_shared_when_it_has_cost_enough() {
        let mut writer = SetWriter::default();
        let mut open = OpenSets::new(&mut writer, Arc::default());
        assert_eq!(number(&mut open, &SET), None);
        assert_eq!(number(&mut open, &SET), None);
        assert_eq!(number(&mut open, &SET), None);
        let shared = number(&mut open, &SET).unwrap();
        assert_eq!(shared.position(), 0);
        assert_eq!(number(&mut open, &SET), Some(shared));
        assert_eq!(open.sets().tlvs(shared), Some(&SET[..]));
    }

    #[test]
    fn small_and_single_sets_are_not_shared() {
        let mut writer = SetWriter::default();
        let mut open = OpenSets::new(&mut writer, Arc::default());
        for i in 0..1000u32 {
            assert_eq!(number(&mut open, b"\x04\x02ab"), None);
            assert_eq!(number(&mut open, &i.to_be_bytes().repeat(30)), None);
        }
    }

    #[test]
    fn a_dropped_transaction_leaves_no_set_and_no_number() {
        let mut writer = SetWriter::default();
        let committed = Arc::new(SharedSets::default());
        let mut open = OpenSets::new(&mut writer, Arc::clone(&committed));
        until_it_is_shared(&mut open, &SET);
        drop(open);
        assert_eq!(committed.count(), 0);
        assert_eq!((writer.numbers.len(), writer.total, writer.indexed), (0, 0, 0));
        // The next transaction gives the number to other content.
        let mut open = OpenSets::new(&mut writer, Arc::clone(&committed));
        let other = [5; 100];
        let shared = until_it_is_shared(&mut open, &other);
        assert_eq!(shared.position(), 0);
        assert_eq!(open.sets().tlvs(shared), Some(&other[..]));
    }

    #[test]
    fn a_number_comes_back_from_its_key() {
        for key in [0, 1, 65_535, 65_536, 65_537, 131_071, (256 + 65_535) * 256 + 255] {
            assert_eq!(SetNumber::from_key(key).unwrap().key(), key);
        }
        assert_eq!(SetNumber::from_key(65_536 + 2), Some(SetNumber::from_octets([2, 0, 0])));
        assert_eq!(SetNumber::from_key((256 + 65_536) * 256), None);
        assert_eq!(SetNumber::from_key(u64::MAX), None);
    }

    #[test]
    fn a_reference_to_other_content_finds_nothing() {
        let mut writer = SetWriter::default();
        let mut open = OpenSets::new(&mut writer, Arc::default());
        let shared = until_it_is_shared(&mut open, &SET);
        let elsewhere = SetNumber::of(0, &[5; 100]).unwrap();
        assert_ne!(shared, elsewhere);
        assert_eq!(open.sets().tlvs(elsewhere), None);
        let unchecked = SetNumber::from_key(0).unwrap();
        assert_eq!(open.sets().tlvs(unchecked), None);
        assert_eq!(open.sets().tlvs(SetNumber::from_key(shared.key() + 256).unwrap()), None);
    }

    #[test]
    fn values_share_their_sets_and_do_not_see_later_ones() {
        let mut writer = SetWriter::default();
        let mut before = Arc::new(SharedSets::default());
        for i in 0..1000u32 {
            let mut open = OpenSets::new(&mut writer, Arc::clone(&before));
            let shared = until_it_is_shared(&mut open, &i.to_be_bytes().repeat(30));
            let after = Arc::clone(open.sets());
            assert_eq!((before.count() + 1, before.tlvs(shared)), (after.count(), None));
            assert!(after.tlvs(shared).is_some());
            before = after;
        }
        let all: Vec<u64> = (0..1000).map(|at| before.at(at).unwrap().number.key()).collect();
        assert!(all.is_sorted());
    }
}
