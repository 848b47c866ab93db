//! One chunk of a posting list: a set of entry IDs of about 1 KB at most, in whichever of three forms is smallest.
//!
//! The first ID is the end of the chunk's key and not repeated in the value. An empty value means that the whole list
//! is that one ID. Otherwise:
//!
//! ```text
//! byte 0         form: 1 deltas, 2 bitmap, 3 runs
//! varint         number of IDs, the first included
//! deltas         for each further ID: varint(distance to the one before - 1)
//! bitmap         bit i (of byte i / 8, least significant first) stands for first + 1 + i; the last byte is not zero
//! runs           varint(length of the first run - 1), then for each further run varint(gap - 1), varint(length - 1)
//! ```

use super::reader::visit;
use crate::{EntryId, varint};

/// Values longer than this are split.
pub(crate) const MAX_BYTES: usize = 1000;
/// A chunk below this is joined with its neighbour when both fit into [`JOINED_BYTES`].
pub(crate) const SMALL_BYTES: usize = 250;
/// Limit of a joined chunk: room is left for growth.
pub(crate) const JOINED_BYTES: usize = 750;

pub(super) const DELTAS: u8 = 1;
pub(super) const BITMAP: u8 = 2;
pub(super) const RUNS: u8 = 3;

/// IDs as inclusive runs, ascending, disjoint and not adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs(Vec<(EntryId, EntryId)>);

impl Runs {
    /// One ID.
    pub(crate) fn one(id: EntryId) -> Self {
        Self(vec![(id, id)])
    }
    /// The runs.
    pub(crate) fn as_slice(&self) -> &[(EntryId, EntryId)] {
        &self.0
    }
    /// Smallest ID.
    pub(crate) fn first(&self) -> Option<EntryId> {
        self.0.first().map(|run| run.0)
    }
    /// Largest ID.
    pub(crate) fn last(&self) -> Option<EntryId> {
        self.0.last().map(|run| run.1)
    }
    /// Number of IDs.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from + 1).sum()
    }
    /// Adds an ID; `false` when it is there already.
    pub(crate) fn insert(&mut self, id: EntryId) -> bool {
        let at = self.0.partition_point(|run| run.0 <= id);
        let before = at.checked_sub(1).and_then(|i| self.0.get(i)).copied();
        if before.is_some_and(|run| id <= run.1) {
            return false;
        }
        let joins_before = before.is_some_and(|run| run.1 + 1 == id);
        let after = self.0.get(at).copied();
        let joins_after = after.is_some_and(|run| id + 1 == run.0);
        match (joins_before, joins_after) {
            (true, true) => {
                self.0.remove(at);
                self.set(at - 1, |run| run.1 = after.map_or(id, |a| a.1));
            }
            (true, false) => self.set(at - 1, |run| run.1 = id),
            (false, true) => self.set(at, |run| run.0 = id),
            (false, false) => self.0.insert(at, (id, id)),
        }
        true
    }
    fn set(&mut self, at: usize, change: impl FnOnce(&mut (EntryId, EntryId))) {
        if let Some(run) = self.0.get_mut(at) {
            change(run);
        }
    }
    /// Removes an ID; `false` when it is not there.
    pub(crate) fn remove(&mut self, id: EntryId) -> bool {
        let Some(at) = self.0.partition_point(|run| run.0 <= id).checked_sub(1) else {
            return false;
        };
        let Some(&(from, to)) = self.0.get(at) else {
            return false;
        };
        if id > to {
            return false;
        }
        match (from == id, to == id) {
            (true, true) => {
                self.0.remove(at);
            }
            (true, false) => self.set(at, |run| run.0 = id + 1),
            (false, true) => self.set(at, |run| run.1 = id - 1),
            (false, false) => {
                self.set(at, |run| run.1 = id - 1);
                self.0.insert(at + 1, (id + 1, to));
            }
        }
        true
    }
    /// Appends a run above all others.
    pub(crate) fn push(&mut self, from: EntryId, to: EntryId) {
        match self.0.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            _ => self.0.push((from, to)),
        }
    }
    /// Cuts off the upper half: half of the runs, or half of a single run. `None`: a single ID cannot be cut.
    pub(crate) fn split(&mut self) -> Option<Self> {
        if self.0.len() > 1 {
            return Some(Self(self.0.split_off(self.0.len() / 2)));
        }
        let run = self.0.last_mut().filter(|run| run.0 < run.1)?;
        let middle = run.0 + (run.1 - run.0) / 2;
        let upper = Self(vec![(middle + 1, run.1)]);
        run.1 = middle;
        Some(upper)
    }
    /// Appends the value of the chunk's row. `sole`: the list has no other chunk.
    pub(crate) fn encode(&self, sole: bool, out: &mut Vec<u8>) {
        let (Some(first), Some(last)) = (self.first(), self.last()) else {
            return;
        };
        if first == last && sole {
            return;
        }
        let sizes = Sizes::of(self);
        let form = sizes.smallest_form();
        out.push(form);
        varint::put(out, self.count());
        match form {
            DELTAS => self.encode_deltas(out),
            BITMAP => self.encode_bitmap(first, sizes.bitmap, out),
            _ => self.encode_runs(out),
        }
    }
    /// Length of the value without writing it.
    pub(crate) fn encoded_length(&self) -> usize {
        let sizes = Sizes::of(self);
        1 + varint::length(self.count()) + sizes.smallest()
    }
    fn encode_deltas(&self, out: &mut Vec<u8>) {
        let mut previous = None;
        for &(from, to) in &self.0 {
            for id in from..=to {
                if let Some(previous) = previous {
                    varint::put(out, id - previous - 1);
                }
                previous = Some(id);
            }
        }
    }
    fn encode_bitmap(&self, first: EntryId, length: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + length, 0);
        let Some(bits) = out.get_mut(start..) else { return };
        for &(from, to) in &self.0 {
            for id in from.max(first + 1)..=to {
                let at = id - first - 1;
                if let Some(byte) = usize::try_from(at / 8).ok().and_then(|i| bits.get_mut(i)) {
                    *byte |= 1 << (at % 8);
                }
            }
        }
    }
    fn encode_runs(&self, out: &mut Vec<u8>) {
        let mut previous: Option<EntryId> = None;
        for &(from, to) in &self.0 {
            if let Some(previous) = previous {
                varint::put(out, from - previous - 2);
            }
            varint::put(out, to - from);
            previous = Some(to);
        }
    }
    /// Reads a chunk. `None`: damaged.
    pub(crate) fn decode(first: EntryId, value: &[u8]) -> Option<Self> {
        let mut runs = Self::default();
        visit(first, value, |from, to| runs.push(from, to))?;
        Some(runs)
    }
}

/// Number of IDs of a chunk, without reading them.
pub(crate) fn count(value: &[u8]) -> Option<u64> {
    match value.split_first() {
        None => Some(1),
        Some((_, mut rest)) => varint::take(&mut rest),
    }
}

/// Payload lengths of the three forms.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    deltas: usize,
    bitmap: usize,
    runs: usize,
}

impl Sizes {
    fn of(runs: &Runs) -> Self {
        let mut sizes = Self {
            deltas: 0,
            bitmap: 0,
            runs: 0,
        };
        let mut previous: Option<EntryId> = None;
        for &(from, to) in runs.as_slice() {
            let inner = usize::try_from(to - from).unwrap_or(usize::MAX);
            sizes.deltas = sizes.deltas.saturating_add(inner);
            if let Some(previous) = previous {
                sizes.deltas = sizes.deltas.saturating_add(varint::length(from - previous - 1));
                sizes.runs += varint::length(from - previous - 2);
            }
            sizes.runs += varint::length(to - from);
            previous = Some(to);
        }
        let span = runs.last().unwrap_or_default() - runs.first().unwrap_or_default();
        sizes.bitmap = usize::try_from(span.div_ceil(8)).unwrap_or(usize::MAX);
        sizes
    }
    fn smallest(&self) -> usize {
        self.deltas.min(self.bitmap).min(self.runs)
    }
    fn smallest_form(&self) -> u8 {
        let smallest = self.smallest();
        if smallest == self.runs {
            RUNS
        } else if smallest == self.deltas {
            DELTAS
        } else {
            BITMAP
        }
    }
}

/// Cuts a rising stream of IDs into full chunks: what the bulk build appends.
#[derive(Debug, Default)]
pub(crate) struct Chunker {
    runs: Runs,
    deltas: usize,
    run_bytes: usize,
}

impl Chunker {
    /// Takes the next ID. Returns the full chunk if this ID begins a new one.
    pub(crate) fn push(&mut self, id: EntryId) -> Option<Runs> {
        if let Some(last) = self.runs.last() {
            if id <= last {
                return None;
            }
            let distance = id - last;
            self.deltas += varint::length(distance - 1);
            if distance > 1 {
                self.run_bytes += varint::length(distance - 2) + 2;
            }
            let first = self.runs.first().unwrap_or(id);
            let bitmap = usize::try_from((id - first) / 8).unwrap_or(usize::MAX);
            // 16: form, count and the growing length of the last run.
            if self.deltas.min(self.run_bytes).min(bitmap) + 16 > MAX_BYTES {
                let full = std::mem::take(&mut self.runs);
                self.restart(id);
                return Some(full);
            }
            self.runs.push(id, id);
            return None;
        }
        self.restart(id);
        None
    }
    /// The rest.
    pub(crate) fn finish(&mut self) -> Option<Runs> {
        self.deltas = 0;
        self.run_bytes = 0;
        let runs = std::mem::take(&mut self.runs);
        runs.first().map(|_| runs)
    }
    fn restart(&mut self, id: EntryId) {
        self.runs = Runs::one(id);
        self.deltas = 0;
        self.run_bytes = 9;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{
        super::reader::{Reader, Sieve},
        *,
    };

    fn ids() -> impl Strategy<Value = BTreeSet<u64>> {
        prop_oneof![
            proptest::collection::btree_set(1u64..2000, 1..400),
            proptest::collection::btree_set(1u64..1 << 50, 1..200),
            (1u64..5000, 1u64..5000).prop_map(|(from, length)| (from..from + length).collect()),
        ]
    }

    fn runs_of(ids: &BTreeSet<u64>) -> Runs {
        let mut runs = Runs::default();
        for &id in ids {
            runs.push(id, id);
        }
        runs
    }

    fn ids_of(runs: &Runs) -> BTreeSet<u64> {
        runs.as_slice().iter().flat_map(|&(a, b)| a..=b).collect()
    }

    #[test]
    fn a_list_of_one_id_has_an_empty_value() {
        let mut out = Vec::new();
        Runs::one(7).encode(true, &mut out);
        assert!(out.is_empty());
        assert_eq!(Runs::decode(7, &[]), Some(Runs::one(7)));
        Runs::one(7).encode(false, &mut out);
        assert_eq!(Runs::decode(7, &out), Some(Runs::one(7)));
    }

    #[test]
    fn a_long_run_takes_a_few_bytes() {
        let mut runs = Runs::default();
        runs.push(1, 1_000_000);
        let mut out = Vec::new();
        runs.encode(true, &mut out);
        assert!(out.len() < 10);
        assert_eq!(count(&out), Some(1_000_000));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(ids in ids()) {
            let runs = runs_of(&ids);
            let mut out = Vec::new();
            runs.encode(false, &mut out);
            prop_assert_eq!(out.len(), runs.encoded_length());
            prop_assert_eq!(count(&out), Some(ids.len() as u64));
            prop_assert_eq!(ids_of(&Runs::decode(*ids.first().unwrap(), &out).unwrap()), ids);
        }
        #[test]
        fn insert_and_remove_are_those_of_a_set(start in ids(), changes in proptest::collection::vec((any::<bool>(), 1u64..2100), 0..200)) {
            let mut set = start.clone();
            let mut runs = runs_of(&start);
            for (add, id) in changes {
                if add {
                    prop_assert_eq!(runs.insert(id), set.insert(id));
                } else {
                    prop_assert_eq!(runs.remove(id), set.remove(&id));
                }
                prop_assert_eq!(runs.count(), set.len() as u64);
            }
            prop_assert_eq!(runs, runs_of(&set));
        }
        #[test]
        fn a_split_keeps_all(ids in ids()) {
            let mut lower = runs_of(&ids);
            let upper = lower.split().unwrap_or_default();
            let mut all = ids_of(&lower);
            all.extend(ids_of(&upper));
            prop_assert_eq!(all, ids);
        }
        #[test]
        fn a_chunker_loses_nothing_and_keeps_the_limit(ids in ids()) {
            let mut chunker = Chunker::default();
            let mut chunks = Vec::new();
            for &id in &ids {
                chunks.extend(chunker.push(id));
            }
            chunks.extend(chunker.finish());
            let mut all = BTreeSet::new();
            for chunk in &chunks {
                prop_assert!(chunk.encoded_length() <= MAX_BYTES);
                all.extend(ids_of(chunk));
            }
            prop_assert_eq!(all, ids);
        }
        #[test]
        fn a_reader_reads_and_sifts(ids in ids(), asked in proptest::collection::btree_set(prop_oneof![1u64..2100, 1u64..1 << 50], 0..300),
            most in 0usize..50) {
            let mut value = Vec::new();
            runs_of(&ids).encode(false, &mut value);
            let open = || Reader::open(*ids.first().unwrap(), &value).unwrap();
            let mut reader = open();
            for &id in &asked {
                let mut read = Vec::new();
                reader.read(id, most, &mut read).unwrap();
                let expected: Vec<u64> = ids.range(id..).take(most).copied().collect();
                prop_assert_eq!(&read, &expected);
                reader = open();
            }
            let mut sifted: Vec<u64> = asked.iter().copied().collect();
            let end = sifted.len();
            let mut sieve = Sieve::new(&mut sifted);
            reader.sift(&mut sieve, end).unwrap();
            sieve.finish();
            prop_assert_eq!(sifted, asked.intersection(&ids).copied().collect::<Vec<_>>());
        }
        #[test]
        fn hostile_bytes_are_no_panic(first in any::<u64>(), bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Runs::decode(first, &bytes);
            if let Some(mut reader) = Reader::open(first, &bytes) {
                let mut read = Vec::new();
                let _ = reader.read(first / 2, 100, &mut read);
                read.extend([first.saturating_add(40), u64::MAX]);
                let end = read.len();
                let _ = reader.sift(&mut Sieve::new(&mut read), end);
            }
            let _ = count(&bytes);
        }
    }
}
