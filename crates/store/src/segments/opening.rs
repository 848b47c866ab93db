//! Opening a log: which frames there are, what a crash has torn, and what is damaged.

use std::sync::Arc;

use super::{
    Frame, LogFile, LogFiles, LogIdentity, LogWriter, SegmentLog, SegmentOffset,
    frame::ALIGNED,
    header::{Found, Header},
    index::{read_header, write_zeros},
    reader::Window,
};
use crate::StoreError;

/// A place between two frames, and what is known there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEnd {
    /// The place.
    pub place: SegmentOffset,
    /// Where the frame before it begins. At the begin of a segment: the same place.
    pub frame: u32,
    /// The sum of the frame before it: it stands for the whole log up to there.
    pub sum: u64,
    /// Number of the last change before it.
    pub last: u64,
    /// When the frame before it was written, in microseconds since 1970.
    pub micros: i64,
}

impl LogEnd {
    /// The place before the first frame of a segment.
    pub(super) fn before_first(header: &Header) -> Self {
        let (place, start) = (header.first(), &header.start);
        Self {
            place,
            frame: place.offset,
            sum: start.sum,
            last: start.last,
            micros: start.micros,
        }
    }

    /// The place behind a frame.
    pub(super) fn behind(frame: &Frame) -> Self {
        Self {
            place: frame.behind,
            frame: frame.place.offset,
            sum: frame.sum,
            last: frame.last,
            micros: frame.micros,
        }
    }
}

/// What was behind the last frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// Zeros.
    Whole,
    /// Octets that a crash has torn: nobody was told that they are in the log. They are gone.
    Torn,
}

/// An open log.
#[derive(Debug)]
pub struct Opened {
    /// Appends behind the last frame.
    pub writer: LogWriter,
    /// The place behind which the database lacks frames, if there are any up to the writer's end.
    pub begin: LogEnd,
    /// What was behind the last frame.
    pub tail: Tail,
}

/// Opens the log of a database. `known`: the end of the log as the database knows it, on the disk for sure. All frames
/// from there on are read; those before are not. `None` in the answer: there is no log.
///
/// Everything that is found is on the disk then.
///
/// # Errors
/// [`StoreError::Format`]: the log is of another database or of a later version, the database has more than the log, or
/// a frame is damaged that was on the disk. [`StoreError::File`]: the disk fails.
pub fn open(
    files: &Arc<dyn LogFiles>,
    identity: LogIdentity,
    known: Option<LogEnd>,
) -> Result<Option<Opened>, StoreError> {
    let found = Segments::find(&**files, identity)?;
    let Some(last) = found.begun.last() else {
        if let Some(known) = known {
            return Err(lacks(&**files, known));
        }
        let log = SegmentLog::new(Arc::clone(files), identity);
        let first = found.rest.first().map(|number| SegmentOffset {
            segment: *number,
            offset: 0,
        });
        if let Some(first) = first {
            found.refuse_damage(&log, first)?;
        }
        found.remove_rest(&**files)?;
        return Ok(None);
    };
    let file: Arc<dyn LogFile> = Arc::from(opened(&**files, last.number)?);
    let failed = |error| files.failed(last.number, error);
    // The kernel may have what the disk has not. What is made of it must stay.
    file.flush().and_then(|()| files.flush_names()).map_err(failed)?;
    let begin = match known {
        Some(known) => found.checked(&**files, known)?,
        None => LogEnd::before_first(last),
    };
    let log = Arc::new(SegmentLog::new(Arc::clone(files), identity));
    for header in &found.begun {
        log.add(header.clone());
    }
    let end = found.walk(&log, begin)?;
    found.refuse_damage(&log, end.place)?;
    let torn = clear(&*file, end.place.offset, last.length).map_err(failed)?;
    let has_rest = found.remove_rest(&**files)?;
    let writer = LogWriter::new(log, file, last.length, end);
    let tail = if torn || has_rest { Tail::Torn } else { Tail::Whole };
    Ok(Some(Opened { writer, begin, tail }))
}

/// The files of a log.
struct Segments {
    identity: LogIdentity,
    /// Those with a header, without gaps.
    begun: Vec<Header>,
    /// Those behind: the next segment, which has zeros or what a crash has torn.
    rest: Vec<u32>,
    /// Whether one of those has more than zeros.
    is_torn: bool,
}

impl Segments {
    fn find(files: &dyn LogFiles, identity: LogIdentity) -> Result<Self, StoreError> {
        let numbers = files.numbers().map_err(|error| files.failed(0, error))?;
        let mut found = Self {
            identity,
            begun: Vec::new(),
            rest: Vec::new(),
            is_torn: false,
        };
        for number in numbers {
            let bad = |why: &str| StoreError::Format(format!("{}: {why}", files.path(number).display()));
            let before = found.begun.last().map(|header| header.number);
            if before.is_some_and(|before| before.checked_add(1 + found.rest_count()) != Some(number)) {
                return Err(bad("the segment before it is missing"));
            }
            let file = opened(files, number)?;
            match read_header(&*file).map_err(|error| files.failed(number, error))? {
                Found::Header(header) if header.identity != identity => {
                    return Err(bad(
                        "it is of the log of another database, or of another history of this one",
                    ));
                }
                Found::Header(header) if header.number != number || !found.rest.is_empty() => {
                    return Err(bad(
                        "it is not where it was written, or the header of the one before is damaged",
                    ));
                }
                Found::Header(header) => found.begun.push(*header),
                Found::Later => return Err(bad("a later version of this program has written it")),
                Found::Zeros => found.rest.push(number),
                Found::Other => {
                    found.rest.push(number);
                    found.is_torn = true;
                }
            }
        }
        Ok(found)
    }

    fn rest_count(&self) -> u32 {
        u32::try_from(self.rest.len()).unwrap_or(u32::MAX)
    }

    /// A place of the database, if the log has it: behind the same frames.
    fn checked(&self, files: &dyn LogFiles, known: LogEnd) -> Result<LogEnd, StoreError> {
        let LogEnd { place, frame, sum, .. } = known;
        let header = self.begun.iter().find(|header| header.number == place.segment);
        let Some(header) = header else {
            return Err(lacks(files, known));
        };
        if frame == place.offset {
            return match LogEnd::before_first(header) {
                begin if begin.place == place && begin.sum == sum => Ok(known),
                _ => Err(lacks(files, known)),
            };
        }
        let mut window = Window::new(opened(files, place.segment)?);
        let head = window.head(frame, self.identity.key(place.segment));
        let head = head.map_err(|error| files.failed(place.segment, error))?;
        let begin = SegmentOffset { offset: frame, ..place };
        match head {
            Some(head) if head.sum == sum && begin.plus(head.length()) == Some(place) => Ok(known),
            _ => Err(lacks(files, known)),
        }
    }

    /// Goes from frame to frame, to the end of the last one.
    fn walk(&self, log: &Arc<SegmentLog>, begin: LogEnd) -> Result<LogEnd, StoreError> {
        let mut end = begin;
        let mut is_first = true;
        for header in self.begun.iter().filter(|header| header.number >= begin.place.segment) {
            if !is_first {
                if header.start.sum != end.sum {
                    return Err(super::reader::damaged(log, end.place));
                }
                end = LogEnd::before_first(header);
            }
            is_first = false;
            let failed = |error| log.files.failed(header.number, error);
            let mut window = Window::new(opened(&*log.files, header.number)?);
            let key = self.identity.key(header.number);
            while let Some((frame, before)) = window.frame(end.place, key).map_err(failed)?
                && before == end.sum
            {
                end = LogEnd::behind(&frame);
                log.pass(end);
            }
        }
        Ok(end)
    }

    /// Looks behind the end for a frame that was written when the log was on the disk beyond this end.
    fn refuse_damage(&self, log: &SegmentLog, end: SegmentOffset) -> Result<(), StoreError> {
        let rest = self.rest.iter().copied().filter(|number| *number != end.segment);
        for number in std::iter::once(end.segment).chain(rest) {
            let failed = |error| log.files.failed(number, error);
            let file = opened(&*log.files, number)?;
            let length = u32::try_from(file.length().map_err(failed)?).unwrap_or(u32::MAX);
            let from = if number == end.segment { end.offset } else { 0 };
            let (mut window, key) = (Window::new(file), self.identity.key(number));
            // What is behind the end of the file is no head.
            for at in (from..length).step_by(ALIGNED) {
                let head = window.head(at, key).map_err(failed)?;
                if head.is_some_and(|head| head.durable > end) {
                    return Err(super::reader::damaged(log, end));
                }
            }
        }
        Ok(())
    }

    /// Removes what is behind the last segment: it is made anew. Whether it had more than zeros.
    fn remove_rest(&self, files: &dyn LogFiles) -> Result<bool, StoreError> {
        for number in self.rest.iter().rev() {
            files.remove(*number).map_err(|error| files.failed(*number, error))?;
        }
        if let Some(number) = self.rest.first() {
            files.flush_names().map_err(|error| files.failed(*number, error))?;
        }
        Ok(self.is_torn)
    }
}

/// Writes zeros from an offset to the end of a segment, if there is anything else. Whether there was.
fn clear(file: &dyn LogFile, from: u32, to: u32) -> std::io::Result<bool> {
    let (mut at, mut part) = (u64::from(from), vec![0; 64 << 10]);
    let mut is_clear = true;
    while is_clear && at < u64::from(to) {
        let count = part
            .len()
            .min(usize::try_from(u64::from(to) - at).unwrap_or(usize::MAX));
        let read = file.read_at(part.get_mut(..count).unwrap_or_default(), at)?;
        is_clear = read == count && part.iter().take(count).all(|octet| *octet == 0);
        at += count as u64;
    }
    if !is_clear {
        write_zeros(file, from, to)?;
        file.flush()?;
    }
    Ok(!is_clear)
}

fn opened(files: &dyn LogFiles, number: u32) -> Result<Box<dyn LogFile>, StoreError> {
    files.open(number).map_err(|error| files.failed(number, error))
}

/// The error for a log that does not have what the database has.
fn lacks(files: &dyn LogFiles, known: LogEnd) -> StoreError {
    let path = files.path(known.place.segment);
    StoreError::Format(format!(
        "{}: the log does not have change {} at octet {}, as the database does",
        path.display(),
        known.last,
        known.place.offset
    ))
}
