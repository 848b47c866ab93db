//! External sort of (key, entry ID) pairs: sorted runs in temporary files, merged at the end.
//!
//! A run is a sequence of groups: varint length of the prefix shared with the key before, varint length of the rest, the rest,
//! varint number of IDs, the first ID, then distances.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use super::temporary_file;
use crate::{EntryId, StoreError, varint};

/// Gathers pairs.
pub(super) struct RunSorter {
    directory: PathBuf,
    name: &'static str,
    limit: usize,
    arena: Vec<u8>,
    items: Vec<Item>,
    runs: Vec<PathBuf>,
}

/// One pair: the first eight bytes of the key (zeros behind its end) decide most comparisons; a longer rest is in the arena.
#[derive(Clone, Copy)]
struct Item {
    prefix: u64,
    id: EntryId,
    offset: u32,
    length: u32,
}

impl Item {
    fn rest<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        let offset = self.offset as usize;
        arena
            .get(offset..offset + (self.length as usize).saturating_sub(8))
            .unwrap_or_default()
    }
    fn compare(&self, other: &Self, arena: &[u8]) -> std::cmp::Ordering {
        self.prefix
            .cmp(&other.prefix)
            .then_with(|| self.rest(arena).cmp(other.rest(arena)))
            .then(self.length.cmp(&other.length))
    }
    fn key(&self, arena: &[u8], out: &mut Vec<u8>) {
        out.clear();
        let prefix = self.prefix.to_be_bytes();
        out.extend_from_slice(prefix.get(..(self.length as usize).min(8)).unwrap_or_default());
        out.extend_from_slice(self.rest(arena));
    }
}

impl RunSorter {
    /// `limit` in bytes of memory.
    pub(super) fn new(directory: &Path, name: &'static str, limit: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            name,
            // The arena is addressed by 32 bits.
            limit: limit.clamp(1 << 20, 4_000_000_000),
            arena: Vec::new(),
            items: Vec::new(),
            runs: Vec::new(),
        }
    }
    /// Adds a pair; keys are at most 511 bytes.
    pub(super) fn push(&mut self, key: &[u8], id: EntryId) -> Result<(), StoreError> {
        let mut prefix = [0u8; 8];
        for (to, from) in prefix.iter_mut().zip(key) {
            *to = *from;
        }
        let offset = u32::try_from(self.arena.len()).unwrap_or(u32::MAX);
        self.arena.extend_from_slice(key.get(8..).unwrap_or_default());
        let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
        self.items.push(Item {
            prefix: u64::from_be_bytes(prefix),
            id,
            offset,
            length,
        });
        if self.arena.len() + self.items.len() * size_of::<Item>() > self.limit {
            self.spill()?;
        }
        Ok(())
    }
    /// Writes what is in memory, a run for each processor.
    fn spill(&mut self) -> Result<(), StoreError> {
        if self.items.is_empty() {
            return Ok(());
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16);
        let part = self.items.len().div_ceil(threads).max(10_000);
        let arena = self.arena.as_slice();
        let results = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for items in self.items.chunks_mut(part) {
                let path = temporary_file(&self.directory, self.name, self.runs.len());
                self.runs.push(path.clone());
                handles.push(scope.spawn(move || write_run(&path, items, arena)));
            }
            handles
                .into_iter()
                .map(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|_| Err(StoreError::Format("a sorting thread has failed".into())))
                })
                .collect::<Result<Vec<()>, StoreError>>()
        });
        results?;
        self.items.clear();
        self.arena.clear();
        Ok(())
    }
    /// Writes the rest and begins the merge.
    pub(super) fn merge(&mut self) -> Result<Merge, StoreError> {
        self.spill()?;
        self.items = Vec::new();
        self.arena = Vec::new();
        let mut merge = Merge::default();
        for (path, at) in std::mem::take(&mut self.runs).into_iter().zip(0..) {
            let file = File::open(&path).map_err(|error| StoreError::file(&path, error))?;
            let mut run = RunReader {
                input: BufReader::with_capacity(256 << 10, file),
                path,
                key: Vec::new(),
                ids: Vec::new(),
            };
            if run.next()? {
                merge.heap.push(Reverse((run.key.clone(), at)));
            }
            merge.runs.push(run);
        }
        Ok(merge)
    }
}

fn write_run(path: &Path, items: &mut [Item], arena: &[u8]) -> Result<(), StoreError> {
    items.sort_unstable_by(|a, b| a.compare(b, arena).then(a.id.cmp(&b.id)));
    let failed = |error| StoreError::file(path, error);
    let mut output = BufWriter::with_capacity(256 << 10, File::create(path).map_err(failed)?);
    let (mut key, mut previous, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for group in items.chunk_by(|a, b| a.compare(b, arena).is_eq()) {
        let Some(first) = group.first() else { continue };
        std::mem::swap(&mut key, &mut previous);
        first.key(arena, &mut key);
        let shared = key.iter().zip(&previous).take_while(|(a, b)| a == b).count();
        bytes.clear();
        varint::put(&mut bytes, shared as u64);
        varint::put(&mut bytes, (key.len() - shared) as u64);
        bytes.extend_from_slice(key.get(shared..).unwrap_or_default());
        varint::put(&mut bytes, group.len() as u64);
        let mut last = 0;
        for item in group {
            varint::put(&mut bytes, item.id - last);
            last = item.id;
        }
        output.write_all(&bytes).map_err(failed)?;
    }
    output.flush().map_err(failed)
}

struct RunReader {
    input: BufReader<File>,
    path: PathBuf,
    key: Vec<u8>,
    ids: Vec<EntryId>,
}

impl RunReader {
    /// Reads the next group; `false` at the end.
    fn next(&mut self) -> Result<bool, StoreError> {
        let Some(shared) = self.varint()? else { return Ok(false) };
        let length = self.number()?;
        self.key.truncate(usize::try_from(shared).unwrap_or(usize::MAX));
        let start = self.key.len();
        self.key
            .resize(start + usize::try_from(length).unwrap_or(0).min(1024), 0);
        let rest = self.key.get_mut(start..).unwrap_or_default();
        self.input
            .read_exact(rest)
            .map_err(|error| StoreError::file(&self.path, error))?;
        self.ids.clear();
        let mut last = 0;
        for _ in 0..self.number()? {
            last += self.number()?;
            self.ids.push(last);
        }
        Ok(true)
    }
    fn number(&mut self) -> Result<u64, StoreError> {
        self.varint()?
            .ok_or_else(|| StoreError::Format(format!("{}: cut off", self.path.display())))
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

/// A key and its entry IDs, ascending.
pub(super) type Group<'m> = (&'m [u8], &'m [EntryId]);

/// Keys in order, each once, with the IDs of all runs.
#[derive(Default)]
pub(super) struct Merge {
    runs: Vec<RunReader>,
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    key: Vec<u8>,
    ids: Vec<EntryId>,
}

impl Merge {
    /// The next key and its IDs, ascending.
    pub(super) fn next(&mut self) -> Result<Option<Group<'_>>, StoreError> {
        self.ids.clear();
        let mut first = true;
        while let Some(Reverse((key, _))) = self.heap.peek() {
            if !first && *key != self.key {
                break;
            }
            let Some(Reverse((mut key, at))) = self.heap.pop() else {
                break;
            };
            let Some(run) = self.runs.get_mut(at) else { break };
            self.ids.extend_from_slice(&run.ids);
            let more = run.next()?;
            if first {
                self.key.clone_from(&key);
                first = false;
            }
            if more {
                key.clone_from(&run.key);
                self.heap.push(Reverse((key, at)));
            }
        }
        if first {
            return Ok(None);
        }
        if !self.ids.is_sorted() {
            self.ids.sort_unstable();
        }
        self.ids.dedup();
        Ok(Some((&self.key, &self.ids)))
    }
}

impl Drop for Merge {
    fn drop(&mut self) {
        for run in &self.runs {
            let _ = std::fs::remove_file(&run.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_merge_is_an_ordered_map(
            pairs in proptest::collection::vec((proptest::collection::vec(0u8..3, 0..14), 1u64..500), 0..400),
            spill in 1usize..100,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut sorter = RunSorter::new(directory.path(), "keys", 1 << 20);
            let mut expected: BTreeMap<Vec<u8>, BTreeSet<u64>> = BTreeMap::new();
            for (at, (key, id)) in pairs.iter().enumerate() {
                sorter.push(key, *id).unwrap();
                if at % spill == 0 { sorter.spill().unwrap(); }
                expected.entry(key.clone()).or_default().insert(*id);
            }
            let mut merge = sorter.merge().unwrap();
            for (key, ids) in expected {
                let (merged, found) = merge.next().unwrap().unwrap();
                prop_assert_eq!(merged.to_vec(), key);
                prop_assert_eq!(found.to_vec(), ids.into_iter().collect::<Vec<_>>());
            }
            prop_assert!(merge.next().unwrap().is_none());
        }
    }
}
