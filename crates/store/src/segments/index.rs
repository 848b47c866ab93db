//! A log as this process knows it: its segments, some places in them, and who reads.

use std::{
    collections::{BTreeMap, VecDeque},
    io::ErrorKind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    Frames, LogEnd, LogFile, LogFiles, LogIdentity, SegmentOffset, SegmentStart,
    header::{Found, Header, PAGE},
};
use crate::StoreError;

/// Octets between two places that are remembered.
const APART: u32 = 64 << 10;
/// Zeros that are written at once. Other flushes on the same disk wait for that much, and not for a whole segment.
const STEP: usize = 64 << 10;

/// A log. All threads read it; one [`super::LogWriter`] appends to it.
#[derive(Debug)]
pub struct SegmentLog {
    pub(super) files: Arc<dyn LogFiles>,
    pub(super) identity: LogIdentity,
    state: Mutex<State>,
    /// Held by the thread that makes a file.
    making: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Without gaps; one at least, once there is a writer.
    segments: VecDeque<Known>,
    /// The next segment, full of zeros that are on the disk.
    spare: Option<Spare>,
    /// How many readers are in a segment.
    readers: BTreeMap<u32, usize>,
    /// Segments that the writer had to make itself.
    missing_spares: u64,
}

/// A segment.
#[derive(Debug)]
struct Known {
    header: Header,
    /// Places in it, rising.
    passed: Vec<LogEnd>,
}

/// A file of zeros.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) file: Arc<dyn LogFile>,
    pub(super) length: u32,
}

impl SegmentLog {
    pub(super) fn new(files: Arc<dyn LogFiles>, identity: LogIdentity) -> Self {
        Self {
            files,
            identity,
            state: Mutex::default(),
            making: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A segment was found or begun, behind all others.
    pub(super) fn add(&self, header: Header) {
        let passed = Vec::new();
        self.state().segments.push_back(Known { header, passed });
    }

    /// A frame ends here, behind all others in its segment.
    pub(super) fn pass(&self, end: LogEnd) {
        let mut state = self.state();
        let Some(known) = state
            .segments
            .iter_mut()
            .rfind(|known| known.header.number == end.place.segment)
        else {
            return;
        };
        let before = known.passed.last().map_or(known.header.first(), |passed| passed.place);
        if end.place.offset.saturating_sub(before.offset) >= APART {
            known.passed.push(end);
        }
    }

    /// The place before the first frame that there is.
    pub fn begin(&self) -> Option<LogEnd> {
        self.state().first()
    }

    /// What is known at the begin of the first segment that there is.
    pub fn start(&self) -> Option<SegmentStart> {
        Some(self.state().segments.front()?.header.start.clone())
    }

    /// Octets of all segments, with what is free in the last one.
    pub fn octets(&self) -> u64 {
        let state = self.state();
        state.segments.iter().map(|known| u64::from(known.header.length)).sum()
    }

    /// How often the writer had to wait for a new segment, because none was ready.
    pub fn missing_spares(&self) -> u64 {
        self.state().missing_spares
    }

    /// Frames up to `until`, from the one that has change `first`. `None`: the log does not have it any more.
    pub fn frames(self: &Arc<Self>, first: u64, until: SegmentOffset) -> Option<Frames> {
        let mut state = self.state();
        let begin = state.before(|end| end.last < first)?;
        let (reading, begin) = state.enter(self, begin);
        drop(state);
        Some(Frames::new(reading, begin, until).of_change(first))
    }

    /// Frames up to `until`, from the first that may end at a time or later (in microseconds since 1970).
    pub fn frames_since(self: &Arc<Self>, micros: i64, until: SegmentOffset) -> Option<Frames> {
        let mut state = self.state();
        let begin = state.before(|end| end.micros < micros).or_else(|| state.first())?;
        let (reading, begin) = state.enter(self, begin);
        drop(state);
        Some(Frames::new(reading, begin, until).since(micros))
    }

    /// Frames up to `until`, from a place between two frames. `None`: the log does not have it any more.
    pub fn frames_behind(self: &Arc<Self>, begin: LogEnd, until: SegmentOffset) -> Option<Frames> {
        let mut state = self.state();
        state.segment(begin.place.segment)?;
        let (reading, begin) = state.enter(self, begin);
        drop(state);
        Some(Frames::new(reading, begin, until))
    }

    /// The last segment for whose begin this is true, if it is true for the first ones and for no later one.
    pub fn last_start(&self, is_before: impl Fn(&SegmentStart) -> bool) -> Option<(LogEnd, SegmentStart)> {
        let state = self.state();
        let count = state.segments.partition_point(|known| is_before(&known.header.start));
        let known = state.segments.get(count.checked_sub(1)?)?;
        Some((known.begin(), known.header.start.clone()))
    }

    /// Removes segments from the first one on, as long as this is true of the begin of the next one and of the octets
    /// that there are. The last one stays, and those that somebody reads. Returns how many are gone.
    ///
    /// # Errors
    /// A file cannot be removed: those before it are gone.
    pub fn remove_first(&self, mut may_go: impl FnMut(&SegmentStart, u64) -> bool) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            let octets = self.octets();
            let mut state = self.state();
            let (Some(first), Some(next)) = (state.segments.front(), state.segments.get(1)) else {
                break;
            };
            let number = first.header.number;
            let is_read = state.readers.range(..=number).next().is_some();
            if is_read || !may_go(&next.header.start, octets) {
                break;
            }
            // Nobody can begin to read it from here on.
            let Some(known) = state.segments.pop_front() else { break };
            drop(state);
            // One after the other: a crash must not bring back a segment without those behind it.
            let removed = self.files.remove(number).and_then(|()| self.files.flush_names());
            if let Err(error) = removed {
                self.state().segments.push_front(known);
                return Err(self.files.failed(number, error));
            }
            gone += 1;
        }
        Ok(gone)
    }

    /// Makes the next segment ready, if none is. Any thread but the writer's may do this.
    ///
    /// # Errors
    /// The disk is full, or fails. The writer tries it again when it needs the segment.
    pub fn make_ready(&self) -> Result<(), StoreError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let number = {
            let state = self.state();
            let last = state.segments.back().map(|known| known.header.number);
            match last.and_then(|last| last.checked_add(1)) {
                Some(number) if state.spare.is_none() => number,
                _ => return Ok(()),
            }
        };
        let spare = self.make(number, self.files.segment_length())?;
        self.state().spare = Some(spare);
        Ok(())
    }

    /// Takes the file of the next segment, with this length at least, and the usual one.
    pub(super) fn take_ready(&self, number: u32, length: u32) -> Result<Spare, StoreError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = self.state().spare.take();
        let spare = match ready {
            Some(spare) if spare.length >= length => return Ok(spare),
            Some(spare) => spare,
            None => {
                self.state().missing_spares += 1;
                return self.make(number, length.max(self.files.segment_length()));
            }
        };
        let failed = |error| self.files.failed(number, error);
        write_zeros(&*spare.file, spare.length, length).map_err(failed)?;
        spare.file.flush().map_err(failed)?;
        Ok(Spare { length, ..spare })
    }

    /// Gives back a file that was not written to.
    pub(super) fn give_back(&self, spare: Spare) {
        self.state().spare = Some(spare);
    }

    fn make(&self, number: u32, length: u32) -> Result<Spare, StoreError> {
        let failed = |error| self.files.failed(number, error);
        let created = match self.files.create(number) {
            // Left behind by an attempt that failed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.files.remove(number).and_then(|()| self.files.create(number))
            }
            created => created,
        };
        let file = created.map_err(failed)?;
        let made = write_zeros(&*file, 0, length)
            .and_then(|()| file.flush())
            .and_then(|()| self.files.flush_names());
        if let Err(error) = made {
            // The next attempt makes it anew.
            let _ = self.files.remove(number);
            return Err(failed(error));
        }
        let file: Arc<dyn LogFile> = Arc::from(file);
        Ok(Spare { file, length })
    }
}

impl State {
    fn segment(&self, number: u32) -> Option<&Known> {
        let first = self.segments.front()?.header.number;
        self.segments.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// The begin of the first segment.
    fn first(&self) -> Option<LogEnd> {
        Some(self.segments.front()?.begin())
    }

    /// The last known place of which this is true, if it is true of the first ones and of no later one.
    fn before(&self, is_before: impl Fn(&LogEnd) -> bool) -> Option<LogEnd> {
        let count = self.segments.partition_point(|known| is_before(&known.begin()));
        let known = self.segments.get(count.checked_sub(1)?)?;
        let count = known.passed.partition_point(&is_before);
        let passed = count.checked_sub(1).and_then(|at| known.passed.get(at)).copied();
        Some(passed.unwrap_or_else(|| known.begin()))
    }

    /// A reader begins there.
    fn enter(&mut self, log: &Arc<SegmentLog>, begin: LogEnd) -> (Reading, LogEnd) {
        let segment = begin.place.segment;
        *self.readers.entry(segment).or_default() += 1;
        let log = Arc::clone(log);
        (Reading { log, segment }, begin)
    }
}

impl Known {
    /// The place before its first frame.
    fn begin(&self) -> LogEnd {
        LogEnd::before_first(&self.header)
    }
}

/// A reader in a segment: neither this one nor a later one is removed.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) log: Arc<SegmentLog>,
    segment: u32,
}

impl Reading {
    /// Goes on to the next segment. `None`: there is none.
    pub(super) fn go_on(&mut self) -> Option<Header> {
        let mut state = self.log.state();
        let header = state.segment(self.segment.checked_add(1)?)?.header.clone();
        *state.readers.entry(header.number).or_default() += 1;
        state.leave(self.segment);
        self.segment = header.number;
        Some(header)
    }
}

impl State {
    fn leave(&mut self, segment: u32) {
        if let Some(count) = self.readers.get_mut(&segment) {
            *count -= 1;
            if *count == 0 {
                self.readers.remove(&segment);
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.log.state().leave(self.segment);
    }
}

/// Writes zeros from one offset to another.
pub(super) fn write_zeros(file: &dyn LogFile, from: u32, to: u32) -> std::io::Result<()> {
    let zeros = vec![0; STEP];
    let (mut at, to) = (u64::from(from), u64::from(to));
    while at < to {
        let count = usize::try_from(to - at).unwrap_or(STEP).min(STEP);
        let part = zeros.get(..count).unwrap_or_default();
        file.write_all_at(part, at).map_err(|(_, error)| error)?;
        at += count as u64;
    }
    Ok(())
}

/// Reads the header of a file.
pub(super) fn read_header(file: &dyn LogFile) -> std::io::Result<Found> {
    let mut page = [0; PAGE];
    file.read_at(&mut page, 0)?;
    Header::read(&page, |octets| {
        let mut whole = vec![0; octets];
        let read = file.read_at(&mut whole, 0)?;
        whole.truncate(read);
        Ok(whole)
    })
}
