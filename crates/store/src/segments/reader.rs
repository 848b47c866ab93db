//! Reading frames, one after the other.

use super::{
    Frame, LogEnd, LogFile, SegmentOffset,
    frame::{HEAD, Head},
    header::Header,
    index::Reading,
};
use crate::StoreError;

/// Octets that are read at once.
const CHUNK: usize = 64 << 10;

/// Frames of a log in order, up to a place. While it lives, no segment is removed from under it.
#[derive(Debug)]
pub struct Frames {
    reading: Reading,
    /// `None`: not opened yet.
    window: Option<Window>,
    /// Behind the last frame that was read.
    at: LogEnd,
    until: SegmentOffset,
    /// Earlier frames are passed over.
    first: u64,
    since: i64,
    has_failed: bool,
}

impl Frames {
    pub(super) fn new(reading: Reading, at: LogEnd, until: SegmentOffset) -> Self {
        Self {
            reading,
            window: None,
            at,
            until,
            first: 0,
            since: i64::MIN,
            has_failed: false,
        }
    }

    pub(super) fn of_change(self, first: u64) -> Self {
        Self { first, ..self }
    }

    pub(super) fn since(self, since: i64) -> Self {
        Self { since, ..self }
    }

    /// The place behind the last frame that was read.
    pub fn at(&self) -> LogEnd {
        self.at
    }

    fn read(&mut self) -> Result<Option<Frame>, StoreError> {
        while self.at.place < self.until {
            if self.window.is_none() {
                self.open()?;
            }
            let Some(window) = &mut self.window else { break };
            let log = &self.reading.log;
            let key = log.identity.key(self.at.place.segment);
            let found = window.frame(self.at.place, key);
            let found = found.map_err(|error| log.files.failed(self.at.place.segment, error))?;
            let Some(frame) = found.filter(|frame| frame.1 == self.at.sum).map(|frame| frame.0) else {
                self.next_segment()?;
                continue;
            };
            self.at = LogEnd::behind(&frame);
            if frame.last >= self.first && frame.micros >= self.since {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    fn open(&mut self) -> Result<(), StoreError> {
        let (files, number) = (&self.reading.log.files, self.at.place.segment);
        let file = files.open(number).map_err(|error| files.failed(number, error))?;
        self.window = Some(Window::new(file));
        Ok(())
    }

    /// Here is no frame: the segment has ended, and the next one says that this was its last frame.
    fn next_segment(&mut self) -> Result<(), StoreError> {
        let place = self.at.place;
        let is_end = self.window.as_mut().is_some_and(|window| window.is_end(place));
        let header: Option<Header> = if is_end && place.segment < self.until.segment {
            self.reading.go_on()
        } else {
            None
        };
        let Some(header) = header.filter(|header| header.start.sum == self.at.sum) else {
            return Err(damaged(&self.reading.log, place));
        };
        self.window = None;
        self.at = LogEnd::before_first(&header);
        Ok(())
    }
}

/// The error for a frame that cannot be read.
pub(super) fn damaged(log: &super::SegmentLog, place: SegmentOffset) -> StoreError {
    let path = log.files.path(place.segment);
    StoreError::Format(format!(
        "{}: the log is damaged at octet {}",
        path.display(),
        place.offset
    ))
}

impl Iterator for Frames {
    type Item = Result<Frame, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = self.read();
        // Behind what cannot be read nothing is known to be of this log.
        self.has_failed = read.is_err();
        read.transpose()
    }
}

/// A part of a file that was read.
#[derive(Debug)]
pub(super) struct Window {
    file: Box<dyn LogFile>,
    from: u64,
    octets: Vec<u8>,
}

impl Window {
    pub(super) fn new(file: Box<dyn LogFile>) -> Self {
        Self {
            file,
            from: 0,
            octets: Vec::new(),
        }
    }

    /// Octets of the file, perhaps less at its end.
    pub(super) fn octets(&mut self, at: u32, count: usize) -> std::io::Result<&[u8]> {
        let at = u64::from(at);
        let has_all = at >= self.from && at + count as u64 <= self.from + self.octets.len() as u64;
        if !has_all {
            self.octets.resize(count.max(CHUNK), 0);
            let read = self.file.read_at(&mut self.octets, at)?;
            self.octets.truncate(read);
            self.from = at;
        }
        let skipped = usize::try_from(at - self.from).unwrap_or(usize::MAX);
        let rest = self.octets.get(skipped..).unwrap_or_default();
        Ok(rest.get(..count).unwrap_or(rest))
    }

    /// The head at a place. `None`: here is none.
    pub(super) fn head(&mut self, at: u32, key: u64) -> std::io::Result<Option<Head>> {
        let octets = self.octets(at, HEAD)?;
        Ok(octets.first_chunk().and_then(|octets| Head::read(octets, key, at)))
    }

    /// The frame at a place, and the sum of the one before it. `None`: here is none.
    pub(super) fn frame(&mut self, place: SegmentOffset, key: u64) -> std::io::Result<Option<(Frame, u64)>> {
        let Some(head) = self.head(place.offset, key)? else {
            return Ok(None);
        };
        let Some(behind) = place.plus(head.length()) else {
            return Ok(None);
        };
        let octets = self.octets(place.offset, HEAD + head.content)?;
        let content = octets.get(HEAD..).unwrap_or_default();
        if !head.is_of(content, key, place.offset) {
            return Ok(None);
        }
        let frame = Frame {
            kind: head.kind,
            last: head.last,
            micros: head.micros,
            covers_all: head.covers_all,
            content: content.to_vec(),
            place,
            behind,
            sum: head.sum,
        };
        Ok(Some((frame, head.before)))
    }

    /// Whether no frame begins here: zeros where its length would be, or no room for one.
    fn is_end(&mut self, place: SegmentOffset) -> bool {
        let octets = self.octets(place.offset, HEAD);
        octets.is_ok_and(|octets| octets.len() < HEAD || octets.iter().all(|octet| *octet == 0))
    }
}
