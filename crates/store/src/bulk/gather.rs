//! Index keys of the entries that one thread prepares, until they are written: compressed posting lists of the keys that recur, pairs of
//! the others.
//!
//! Entries are counted by *ordinals*, from 1, of this thread alone; which entry IDs they have got is known at the end. Ordinals rise, so
//! that a list grows by the distance to the one before, mostly one byte, and nothing of it is ever sorted.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::pairs::Pairs;
use crate::{
    StoreError,
    catalog::{Catalog, Index, IndexKind},
    keys::NormalForm,
};

/// What one thread has gathered.
#[derive(Default)]
pub(super) struct Gathered {
    /// By the bytes of the whole key, zeros behind its end: keys of one index are of one length, so none is taken for another.
    lists: FxHashMap<u64, List>,
    /// Keys of equality and approximate indexes among the lists.
    hashes: usize,
    pairs: Pairs,
    bytes: usize,
}

/// Ordinals of one key.
#[derive(Default)]
struct List {
    last: u32,
    length: u8,
    /// Distances, seven bits a byte, low ones first; all but the last byte have the top bit.
    distances: SmallVec<[u8; 16]>,
}

/// Hashed values that get lists at most: the first ones. Values that nearly all entries have are among them; values that are unique
/// would cost more as lists than as pairs.
const MAX_HASHES: usize = 1 << 15;

impl List {
    fn push(&mut self, ordinal: u32) -> usize {
        if self.last == ordinal {
            return 0;
        }
        let mut distance = ordinal - self.last;
        self.last = ordinal;
        let before = self.distances.len();
        while distance >= 0x80 {
            self.distances.push(distance.to_le_bytes()[0] | 0x80);
            distance >>= 7;
        }
        self.distances.push(distance.to_le_bytes()[0]);
        self.distances.len() - before
    }
    fn ordinals(&self, out: &mut Vec<u32>) {
        out.clear();
        let (mut ordinal, mut distance, mut shift) = (0u32, 0u32, 0);
        for &byte in &self.distances {
            distance |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                ordinal += distance;
                out.push(ordinal);
                (distance, shift) = (0, 0);
            }
        }
    }
}

impl Gathered {
    /// Takes the keys of one attribute's values.
    pub(super) fn add_values<'v>(
        &mut self,
        catalog: &Catalog,
        feeds: &[u16],
        values: impl Iterator<Item = &'v [u8]>,
        form: &mut NormalForm,
        ordinal: u32,
    ) -> Result<(), StoreError> {
        let mut result = Ok(());
        for value in values {
            form.begin();
            for index in feeds.iter().filter_map(|&at| catalog.indexes.get(usize::from(at))) {
                form.each_key(&catalog.schema, index, value, &mut |key| {
                    if let Err(error) = self.put(index, key, ordinal) {
                        result = Err(error);
                    }
                });
            }
        }
        result
    }
    fn put(&mut self, index: &Index, key: &[u8], ordinal: u32) -> Result<(), StoreError> {
        let prefix = index.prefix.as_slice();
        let length = prefix.len() + key.len();
        let kind = index.stored.kind;
        if length > 8 || kind == IndexKind::EqualityOrdered {
            let mut whole: SmallVec<[u8; 64]> = SmallVec::from_slice(prefix);
            whole.extend_from_slice(key);
            return self.pairs.push(&whole, ordinal);
        }
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(prefix.iter().chain(key)) {
            *to = *from;
        }
        let number = u64::from_be_bytes(bytes);
        if let Some(list) = self.lists.get_mut(&number) {
            self.bytes += 2 * list.push(ordinal);
            return Ok(());
        }
        if kind != IndexKind::Substring && kind != IndexKind::Presence {
            if self.hashes >= MAX_HASHES {
                return self.pairs.push(bytes.get(..length).unwrap_or_default(), ordinal);
            }
            self.hashes += 1;
        }
        let list = self.lists.entry(number).or_default();
        list.length = length.to_le_bytes()[0];
        list.push(ordinal);
        self.bytes += 2 * size_of::<(u64, List)>();
        Ok(())
    }
    /// Bytes in use, about.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.pairs.memory()
    }
    /// Puts everything in order.
    pub(super) fn sort(self) -> (SortedLists, SortedPairs) {
        let mut lists: Vec<_> = self.lists.into_iter().collect();
        lists.sort_unstable_by_key(|(key, _)| *key);
        let mut pairs = self.pairs;
        pairs.sort();
        (SortedLists { lists, next: 0 }, SortedPairs { pairs, next: 0 })
    }
}

/// Keys in order with the ordinals of each.
pub(super) trait Groups {
    /// Reads the next group; `false` at the end.
    fn next(&mut self, key: &mut Vec<u8>, entries: &mut Vec<u32>) -> Result<bool, StoreError>;
}

/// Lists in the order of their keys.
pub(super) struct SortedLists {
    lists: Vec<(u64, List)>,
    next: usize,
}

/// Pairs in the order of their keys.
pub(super) struct SortedPairs {
    pairs: Pairs,
    next: usize,
}

impl SortedPairs {
    /// Sorts pairs.
    pub(super) fn new(mut pairs: Pairs) -> Self {
        pairs.sort();
        Self { pairs, next: 0 }
    }
}

impl Groups for SortedLists {
    fn next(&mut self, key: &mut Vec<u8>, entries: &mut Vec<u32>) -> Result<bool, StoreError> {
        let Some((number, list)) = self.lists.get(self.next) else {
            return Ok(false);
        };
        self.next += 1;
        key.clear();
        let bytes = number.to_be_bytes();
        key.extend_from_slice(bytes.get(..usize::from(list.length)).unwrap_or_default());
        list.ordinals(entries);
        Ok(true)
    }
}

impl Groups for SortedPairs {
    fn next(&mut self, key: &mut Vec<u8>, entries: &mut Vec<u32>) -> Result<bool, StoreError> {
        let Some(next) = self.pairs.group(self.next, key, entries) else {
            return Ok(false);
        };
        self.next = next;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_gives_its_ordinals_back(mut ordinals in proptest::collection::vec(1u32.., 0..50)) {
            ordinals.sort_unstable();
            let mut list = List::default();
            for &ordinal in &ordinals {
                list.push(ordinal);
            }
            ordinals.dedup();
            let mut out = Vec::new();
            list.ordinals(&mut out);
            prop_assert_eq!(out, ordinals);
        }
    }
}
