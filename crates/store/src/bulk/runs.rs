//! Groups of keys and entries from memory and from sorted runs in temporary files, merged.
//!
//! A run is a sequence of groups: varint length of the prefix shared with the key before, varint length of the rest,
//! the rest, varint number of entries, the first entry, then distances.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use super::gather::Groups;
use crate::{EntryId, StoreError, varint};

/// Bytes that are read and written at once.
const BUFFER: usize = 64 << 10;

/// Writes groups to a new file.
pub(super) fn write_run(path: &Path, groups: &mut dyn Groups) -> Result<(), StoreError> {
    let failed = |error| StoreError::file(path, error);
    let mut output = BufWriter::with_capacity(BUFFER, File::create(path).map_err(failed)?);
    let (mut key, mut previous, mut entries, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    while groups.next(&mut key, &mut entries)? {
        let shared = key.iter().zip(&previous).take_while(|(a, b)| a == b).count();
        bytes.clear();
        varint::put(&mut bytes, shared as u64);
        varint::put(&mut bytes, (key.len() - shared) as u64);
        bytes.extend_from_slice(key.get(shared..).unwrap_or_default());
        varint::put(&mut bytes, entries.len() as u64);
        let mut last = 0;
        for &entry in &entries {
            varint::put(&mut bytes, u64::from(entry - last));
            last = entry;
        }
        output.write_all(&bytes).map_err(failed)?;
        std::mem::swap(&mut key, &mut previous);
    }
    output.flush().map_err(failed)
}

/// Reads a run. The file is deleted when the reader is dropped.
pub(super) struct RunReader {
    input: BufReader<File>,
    path: PathBuf,
    last: Vec<u8>,
}

impl RunReader {
    /// Opens a run.
    pub(super) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let file = File::open(&path).map_err(|error| StoreError::file(&path, error))?;
        Ok(Self {
            input: BufReader::with_capacity(BUFFER, file),
            path,
            last: Vec::new(),
        })
    }
    fn number(&mut self) -> Result<u64, StoreError> {
        self.varint()?.ok_or_else(|| self.cut_off())
    }
    fn cut_off(&self) -> StoreError {
        StoreError::Format(format!("{}: cut off", self.path.display()))
    }
    fn varint(&mut self) -> Result<Option<u64>, StoreError> {
        let failed = |error| StoreError::file(&self.path, error);
        let mut bytes = [0u8; varint::MAX_LENGTH];
        let [first, further @ ..] = &mut bytes;
        match self.input.read(std::slice::from_mut(first)) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(failed(error)),
        }
        let count = first.leading_ones() as usize;
        if let Some(further) = further.get_mut(..count) {
            self.input.read_exact(further).map_err(failed)?;
        }
        Ok(varint::read(bytes.get(..=count).unwrap_or_default()))
    }
}

impl Groups for RunReader {
    fn next(&mut self, key: &mut Vec<u8>, entries: &mut Vec<u32>) -> Result<bool, StoreError> {
        let Some(shared) = self.varint()? else { return Ok(false) };
        let length = self.number()?;
        self.last.truncate(usize::try_from(shared).unwrap_or(usize::MAX));
        let start = self.last.len();
        self.last
            .resize(start + usize::try_from(length).unwrap_or(0).min(1024), 0);
        let rest = self.last.get_mut(start..).unwrap_or_default();
        self.input
            .read_exact(rest)
            .map_err(|error| StoreError::file(&self.path, error))?;
        key.clone_from(&self.last);
        entries.clear();
        let mut last = 0;
        for _ in 0..self.number()? {
            last += u32::try_from(self.number()?).map_err(|_| self.cut_off())?;
            entries.push(last);
        }
        Ok(true)
    }
}

impl Drop for RunReader {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Entry IDs by ordinal; 0 where nothing was stored. `None`: the numbers in the run are the entry IDs.
pub(super) type Placed = Option<Vec<u32>>;

/// Groups, with the table that turns their numbers into entry IDs.
struct Source<'p> {
    groups: Box<dyn Groups + Send>,
    placed: &'p Placed,
    entries: Vec<u32>,
}

/// A key and its entry IDs, ascending.
pub(super) type Group<'m> = (&'m [u8], &'m [EntryId]);

/// Keys in order, each once, with the IDs of all sources.
#[derive(Default)]
pub(super) struct Merge<'p> {
    sources: Vec<Source<'p>>,
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    key: Vec<u8>,
    ids: Vec<EntryId>,
}

impl<'p> Merge<'p> {
    /// Adds a source.
    pub(super) fn add(&mut self, groups: Box<dyn Groups + Send>, placed: &'p Placed) -> Result<(), StoreError> {
        let mut source = Source {
            groups,
            placed,
            entries: Vec::new(),
        };
        let mut key = Vec::new();
        if source.groups.next(&mut key, &mut source.entries)? {
            self.heap.push(Reverse((key, self.sources.len())));
            self.sources.push(source);
        }
        Ok(())
    }
    /// The next key and its IDs, ascending; none when nothing with this key was stored.
    pub(super) fn next(&mut self) -> Result<Option<Group<'_>>, StoreError> {
        self.ids.clear();
        let mut first = true;
        while let Some(mut top) = self.heap.peek_mut() {
            let Reverse((key, at)) = &mut *top;
            if first {
                self.key.clone_from(key);
                first = false;
            } else if *key != self.key {
                break;
            }
            let Some(source) = self.sources.get_mut(*at) else { break };
            source.take(&mut self.ids);
            if !source.groups.next(key, &mut source.entries)? {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        if first {
            return Ok(None);
        }
        if !self.ids.is_sorted() {
            sort_stretches(&mut self.ids);
        }
        self.ids.dedup();
        Ok(Some((&self.key, &self.ids)))
    }
}

/// Sorts a few ascending stretches. There is one stretch for each source, except for placeholders. The stable sort
/// merges them.
#[allow(
    clippy::stable_sort_primitive,
    reason = "the unstable sort does not use the order that there is"
)]
fn sort_stretches(ids: &mut [EntryId]) {
    ids.sort();
}

impl Source<'_> {
    fn take(&self, ids: &mut Vec<EntryId>) {
        let entries = self.entries.iter();
        match self.placed {
            None => ids.extend(entries.map(|&entry| EntryId::from(entry))),
            Some(placed) => {
                let found = entries.filter_map(|&ordinal| placed.get(ordinal as usize));
                ids.extend(found.filter(|&&id| id > 0).map(|&id| EntryId::from(id)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::{
        super::{gather::SortedPairs, pairs::Pairs},
        *,
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_merge_is_an_ordered_map(
            pairs in proptest::collection::vec((proptest::collection::vec(0u8..3, 0..14), 1u32..500), 0..400),
            spill in 1usize..100,
        ) {
            let directory = tempfile::tempdir().unwrap();
            // Even numbers have no entry ID, odd numbers have ten times their number.
            let placed = Some((0..500u32).map(|ordinal| ordinal % 2 * ordinal * 10).collect());
            let mut merge = Merge::default();
            let mut expected: BTreeMap<Vec<u8>, BTreeSet<u64>> = BTreeMap::new();
            let mut gathered = Pairs::default();
            for (at, (key, ordinal)) in pairs.iter().enumerate() {
                gathered.push(key, *ordinal).unwrap();
                if at % spill == 0 {
                    let path = directory.path().join(at.to_string());
                    write_run(&path, &mut SortedPairs::new(std::mem::take(&mut gathered))).unwrap();
                    merge.add(Box::new(RunReader::open(path).unwrap()), &placed).unwrap();
                }
                let ids = expected.entry(key.clone()).or_default();
                if ordinal % 2 == 1 {
                    ids.insert(u64::from(ordinal * 10));
                }
            }
            merge.add(Box::new(SortedPairs::new(gathered)), &placed).unwrap();
            for (key, ids) in expected {
                let (merged, found) = merge.next().unwrap().unwrap();
                prop_assert_eq!(merged.to_vec(), key);
                prop_assert_eq!(found.to_vec(), ids.into_iter().collect::<Vec<_>>());
            }
            prop_assert!(merge.next().unwrap().is_none());
            drop(merge);
            prop_assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());
        }
    }
}
