//! A disk that loses, mixes and tears what was not flushed, by sectors of 512 octets. It fails when it is told to.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

use super::Numbers;
use crate::segments::{LogFile, LogFiles};

const SECTOR: usize = 512;
/// Octets of a segment: small, so that there are many.
pub(super) const SEGMENT: u32 = 16 << 10;

/// What a call does instead of its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Nothing, and says that the device has failed.
    Device,
    /// Nothing, and says that the disk is full.
    Full,
    /// Writes the first half alone. A call that does not write fails.
    Short,
    /// The work, and says that the device has failed.
    Late,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<u32, Content>,
    /// The names that are on the disk.
    names: BTreeSet<u32>,
    /// Files that were removed, while their names are on the disk.
    removed: BTreeMap<u32, Content>,
    calls: usize,
    fault: Option<(usize, Fault)>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    /// What the disk has.
    flushed: Vec<u8>,
    /// What readers see.
    seen: Vec<u8>,
    /// What was written since the last flush.
    writes: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Calls that may fail, so far.
    pub(super) fn calls(&self) -> usize {
        self.state().calls
    }

    /// The call with this number fails.
    pub(super) fn fail(&self, call: usize, fault: Fault) {
        self.state().fault = Some((call, fault));
    }

    /// What is there after the machine has lost its power.
    pub(super) fn cut(&self, numbers: &mut Numbers) -> Self {
        let state = self.state();
        let mut after = State::default();
        let old = state.files.iter().map(|(number, content)| (*number, content, true));
        let gone = state.removed.iter().map(|(number, content)| (*number, content, false));
        for (number, content, is_there) in old.chain(gone) {
            let is_named = state.names.contains(&number);
            let stays = if is_there == is_named {
                is_there
            } else {
                numbers.below(2) == 0
            };
            if stays && !after.files.contains_key(&number) {
                after.files.insert(number, content.cut(numbers));
                after.names.insert(number);
            }
        }
        Self(Arc::new(Mutex::new(after)))
    }

    /// The same content after the process has ended, while the machine goes on.
    pub(super) fn go_on(&self) -> Self {
        let State {
            files, names, removed, ..
        } = &*self.state();
        Self(Arc::new(Mutex::new(State {
            files: files.clone(),
            names: names.clone(),
            removed: removed.clone(),
            ..State::default()
        })))
    }

    /// Changes a bit, on the disk as well.
    pub(super) fn flip(&self, number: u32, at: usize, bit: u8) {
        let mut state = self.state();
        let content = state.files.get_mut(&number).unwrap();
        assert!(content.writes.is_empty(), "only what is on the disk gets damaged");
        content.flushed[at] ^= 1 << bit;
        content.seen = content.flushed.clone();
    }

    /// All octets of a file.
    pub(super) fn octets(&self, number: u32) -> Vec<u8> {
        self.state().files[&number].seen.clone()
    }

    pub(super) fn remove_file(&self, number: u32) {
        let mut state = self.state();
        state.files.remove(&number);
        state.names.remove(&number);
    }

    /// A call: whether it does its work, and what it says.
    fn call(&self, is_write: bool) -> (Work, io::Result<()>) {
        let mut state = self.state();
        state.calls += 1;
        let fault = state.fault.filter(|(call, _)| *call == state.calls);
        let device = || Err(io::Error::from_raw_os_error(5));
        match fault.map(|(_, fault)| fault) {
            None => (Work::All, Ok(())),
            Some(Fault::Full) => (Work::None, Err(ErrorKind::StorageFull.into())),
            Some(Fault::Short) if is_write => (Work::Half, Ok(())),
            Some(Fault::Late) => (Work::All, device()),
            Some(Fault::Device | Fault::Short) => (Work::None, device()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    All,
    Half,
    None,
}

impl Content {
    fn write(&mut self, at: usize, octets: &[u8]) {
        put(&mut self.seen, at, octets);
        self.writes.push((at, octets.to_vec()));
    }

    fn flush(&mut self) {
        self.flushed.clone_from(&self.seen);
        self.writes.clear();
    }

    /// Each sector has what it had when some of the writes were made.
    fn cut(&self, numbers: &mut Numbers) -> Self {
        let mut octets = self.flushed.clone();
        octets.resize(self.seen.len(), 0);
        if !self.writes.is_empty() {
            let mut sectors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (number, (at, part)) in self.writes.iter().enumerate() {
                for sector in at / SECTOR..(at + part.len()).div_ceil(SECTOR) {
                    sectors.entry(sector).or_default().push(number);
                }
            }
            for (sector, writes) in sectors {
                let (from, to) = (sector * SECTOR, ((sector + 1) * SECTOR).min(octets.len()));
                let most = writes.len() + 1;
                for number in writes.iter().take(numbers.below(most)) {
                    let (at, part) = &self.writes[*number];
                    let (begin, end) = (from.max(*at), to.min(at + part.len()));
                    octets[begin..end].copy_from_slice(&part[begin - at..end - at]);
                }
            }
        }
        Self {
            flushed: octets.clone(),
            seen: octets,
            writes: Vec::new(),
        }
    }
}

fn put(into: &mut Vec<u8>, at: usize, octets: &[u8]) {
    if into.len() < at + octets.len() {
        into.resize(at + octets.len(), 0);
    }
    into[at..at + octets.len()].copy_from_slice(octets);
}

impl LogFiles for Disk {
    fn numbers(&self) -> io::Result<Vec<u32>> {
        Ok(self.state().files.keys().copied().collect())
    }

    fn create(&self, number: u32) -> io::Result<Box<dyn LogFile>> {
        let (work, says) = self.call(false);
        if work == Work::All {
            let mut state = self.state();
            if state.files.contains_key(&number) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            state.files.insert(number, Content::default());
        }
        let disk = self.clone();
        says.map(|()| Box::new(DiskFile { disk, number }) as Box<dyn LogFile>)
    }

    fn open(&self, number: u32) -> io::Result<Box<dyn LogFile>> {
        if !self.state().files.contains_key(&number) {
            return Err(ErrorKind::NotFound.into());
        }
        let disk = self.clone();
        Ok(Box::new(DiskFile { disk, number }))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        let (work, says) = self.call(false);
        let mut state = self.state();
        if work == Work::All
            && let Some(content) = state.files.remove(&number)
            && state.names.contains(&number)
        {
            state.removed.insert(number, content);
        }
        says
    }

    fn flush_names(&self) -> io::Result<()> {
        let (work, says) = self.call(false);
        if work == Work::All {
            let mut state = self.state();
            state.names = state.files.keys().copied().collect();
            state.removed.clear();
        }
        says
    }

    fn segment_length(&self) -> u32 {
        SEGMENT
    }

    fn path(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("log/{number:08}.log"))
    }
}

#[derive(Debug)]
struct DiskFile {
    disk: Disk,
    number: u32,
}

impl DiskFile {
    /// Does something with the content. A file that was removed stays readable.
    fn with<T>(&self, what: impl FnOnce(&mut Content) -> T) -> T {
        let mut state = self.disk.state();
        let state = &mut *state;
        let content = state.files.get_mut(&self.number);
        let content = content.or_else(|| state.removed.get_mut(&self.number));
        what(content.unwrap_or(&mut Content::default()))
    }
}

impl LogFile for DiskFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.with(|content| content.seen.len() as u64))
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.with(|content| {
            let rest = content.seen.get(usize::try_from(at).unwrap()..).unwrap_or_default();
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<usize> {
        let (work, says) = self.disk.call(true);
        let count = match work {
            Work::All => octets.len(),
            Work::Half => octets.len() / 2,
            Work::None => 0,
        };
        if count > 0 {
            self.with(|content| content.write(usize::try_from(at).unwrap(), &octets[..count]));
        }
        says.map(|()| count)
    }

    fn flush(&self) -> io::Result<()> {
        let (work, says) = self.disk.call(false);
        if work == Work::All {
            self.with(Content::flush);
        }
        says
    }
}
