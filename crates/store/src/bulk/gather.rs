//! Index keys of the entries that one thread prepares, kept until they are written: compressed posting lists for keys
//! that recur, pairs for the others.
//!
//! Each thread counts its own entries with *ordinals*, from 1. Their entry IDs are known only at the end. Ordinals
//! rise, so a list grows by the distance to the ordinal before, mostly one byte, and is never sorted.

use ironbark_model::{Schema, number_map::NumberMap};
use smallvec::SmallVec;

use super::pairs::Pairs;
use crate::{
    StoreError,
    catalog::{Index, IndexKind},
    keys::{self, NormalForm},
};

/// What one thread has gathered.
#[derive(Default)]
pub(super) struct Gathered {
    /// In the order of their prefixes.
    indexes: Vec<IndexKeys>,
    /// The bytes of the last values. Keys are made from them.
    values: Vec<u8>,
    pending: usize,
    bytes: usize,
    scratch: Vec<u8>,
}

/// Keys of one index.
struct IndexKeys {
    kind: IndexKind,
    prefix: SmallVec<[u8; 4]>,
    /// Values whose keys are still to be made: ordinal, and where the value lies in `values`. Keys are made index by
    /// index, so that the lists in use stay in the processor's cache.
    pending: Vec<(u32, u32, u32)>,
    /// By the bytes of the whole key, with zeros behind its end. All keys have one length, so two keys are never
    /// mistaken for each other.
    lists: NumberMap<List>,
    pairs: Pairs,
}

/// Bytes of values, and their number, before their keys are made.
const PENDING_BYTES: usize = 1 << 20;
const PENDING: usize = 1 << 17;

/// Ordinals of one key.
#[derive(Default)]
struct List {
    last: u32,
    length: u8,
    /// Distances, seven bits a byte, low ones first; all but the last byte have the top bit.
    distances: SmallVec<[u8; 16]>,
}

/// The number of hashed values of one index that get lists: the first values do. Values that nearly all entries have
/// are among them. Unique values would cost more as lists than as pairs.
const MAX_HASHES: usize = 1 << 12;

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
    pub(super) fn new(indexes: &[Index]) -> Self {
        let indexes = indexes.iter().map(|index| IndexKeys {
            kind: index.stored.kind,
            prefix: index.prefix.clone(),
            pending: Vec::new(),
            lists: NumberMap::default(),
            pairs: Pairs::default(),
        });
        Self {
            indexes: indexes.collect(),
            ..Self::default()
        }
    }
    /// Takes a value into the indexes at the positions `feeds` of `indexes`. The caller has announced the value to
    /// `form`.
    pub(super) fn add_value(
        &mut self,
        indexes: &[Index],
        feeds: &[u16],
        schema: &Schema,
        value: &[u8],
        form: &mut NormalForm,
        ordinal: u32,
    ) {
        // Which version of the form was appended last, and where it lies.
        let (mut version, mut framed) = (None, (0, 0));
        for at in feeds.iter().map(|&at| usize::from(at)) {
            let (Some(index), Some(keys)) = (indexes.get(at), self.indexes.get_mut(at)) else {
                continue;
            };
            let place = match (keys.kind, index.rule) {
                (IndexKind::Presence, _) => (0, 0),
                (IndexKind::Approximate, Some(_)) => append(&mut self.values, value),
                (_, None) => continue,
                (_, Some(rule)) => {
                    let Some(_) = form.framed(schema, rule.normalize_value, value) else {
                        continue;
                    };
                    if version != Some(form.version()) {
                        version = Some(form.version());
                        let octets = form.framed(schema, rule.normalize_value, value);
                        framed = append(&mut self.values, octets.unwrap_or_default());
                    }
                    framed
                }
            };
            keys.pending.push((ordinal, place.0, place.1));
            self.pending += 1;
        }
    }
    /// Makes the keys of the pending values if there are enough of them, or if `all` is set.
    pub(super) fn settle(&mut self, all: bool) -> Result<(), StoreError> {
        if !all && self.values.len() < PENDING_BYTES && self.pending < PENDING {
            return Ok(());
        }
        for keys in &mut self.indexes {
            let mut result = Ok(());
            let mut pending = std::mem::take(&mut keys.pending);
            for (ordinal, start, end) in pending.drain(..) {
                let value = self.values.get(start as usize..end as usize).unwrap_or_default();
                keys::keys_of(
                    keys.kind,
                    value,
                    &mut self.scratch,
                    &mut |key| match keys.put(key, ordinal) {
                        Ok(bytes) => self.bytes += bytes,
                        Err(error) => result = Err(error),
                    },
                );
            }
            keys.pending = pending;
            result?;
        }
        self.values.clear();
        self.pending = 0;
        Ok(())
    }
    /// Approximate number of bytes in use.
    pub(super) fn memory(&self) -> usize {
        let pairs = self.indexes.iter().map(|keys| keys.pairs.memory());
        let pending = self.values.len() + self.pending * size_of::<(u32, u32, u32)>();
        self.bytes + pending + pairs.sum::<usize>()
    }
    /// Puts everything in order.
    pub(super) fn sort(mut self) -> Result<(SortedLists, SortedPairs), StoreError> {
        self.settle(true)?;
        let (mut lists, mut pairs) = (Vec::new(), Vec::new());
        for mut keys in self.indexes {
            lists.extend(keys.lists);
            keys.pairs.sort();
            pairs.push(keys.pairs);
        }
        lists.sort_unstable_by_key(|(key, _)| *key);
        pairs.reverse();
        let lists = SortedLists { lists, next: 0 };
        Ok((lists, SortedPairs { pairs, next: 0 }))
    }
}

fn append(values: &mut Vec<u8>, value: &[u8]) -> (u32, u32) {
    let start = values.len();
    values.extend_from_slice(value);
    // A record is far below 4 GiB, and so are the pending values.
    let short = |at| u32::try_from(at).unwrap_or(u32::MAX);
    (short(start), short(values.len()))
}

impl IndexKeys {
    /// Adds a key. Returns about how many bytes that took, without those of pairs.
    fn put(&mut self, key: &[u8], ordinal: u32) -> Result<usize, StoreError> {
        let prefix = self.prefix.as_slice();
        let length = prefix.len() + key.len();
        if length > 8 || self.kind == IndexKind::EqualityOrdered {
            let mut whole: SmallVec<[u8; 64]> = SmallVec::from_slice(prefix);
            whole.extend_from_slice(key);
            return self.pairs.push(&whole, ordinal).map(|()| 0);
        }
        let number = [prefix, key]
            .into_iter()
            .flatten()
            .fold(0, |number, &byte| (number << 8) | u64::from(byte));
        let number = if length == 0 { 0 } else { number << (64 - 8 * length) };
        if let Some(list) = self.lists.get_mut(&number) {
            return Ok(2 * list.push(ordinal));
        }
        let is_hash = matches!(self.kind, IndexKind::EqualityHash | IndexKind::Approximate);
        if is_hash && self.lists.len() >= MAX_HASHES {
            let bytes = number.to_be_bytes();
            let whole = bytes.get(..length).unwrap_or_default();
            return self.pairs.push(whole, ordinal).map(|()| 0);
        }
        let list = self.lists.entry(number).or_default();
        list.length = length.to_le_bytes()[0];
        list.push(ordinal);
        Ok(2 * size_of::<(u64, List)>())
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
    /// Read from the end: all keys of the last element come first.
    pairs: Vec<Pairs>,
    next: usize,
}

impl SortedPairs {
    /// Sorts pairs.
    pub(super) fn new(mut pairs: Pairs) -> Self {
        pairs.sort();
        Self {
            pairs: vec![pairs],
            next: 0,
        }
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
        while let Some(pairs) = self.pairs.last() {
            if let Some(next) = pairs.group(self.next, key, entries) {
                self.next = next;
                return Ok(true);
            }
            self.pairs.pop();
            self.next = 0;
        }
        Ok(false)
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
