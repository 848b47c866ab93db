//! Appending to a log.

use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

use super::{
    LogEnd, LogFile, LogFiles, LogIdentity, MOST, NewFrame, SegmentLog, SegmentOffset, SegmentStart,
    frame::{self, Surroundings, length_with},
    header::{Header, octets_with},
};
use crate::{ContextVector, StoreError};

/// Appends to a log. There is one for each log.
#[derive(Debug)]
pub struct LogWriter {
    log: Arc<SegmentLog>,
    file: Arc<dyn LogFile>,
    /// Octets of the current segment.
    length: u32,
    end: LogEnd,
    /// Up to where the log is on the disk.
    durable: SegmentOffset,
    /// Whether a write or a flush has failed.
    is_closed: bool,
    octets: Vec<u8>,
}

/// Why a frame was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// It is not in the log and never will be: the disk is full, or it is longer than any segment. The next one may be
    /// appended.
    #[error("the log is full: {0}")]
    Refused(io::Error),
    /// It may be in the log, and be found at the next start, or not. Nothing is appended any more.
    #[error("writing the log: {0}")]
    Unknown(io::Error),
    /// An earlier one had such an error.
    #[error("the log is closed until the server starts again, since an earlier write failed")]
    Closed,
}

impl LogWriter {
    pub(super) fn new(log: Arc<SegmentLog>, file: Arc<dyn LogFile>, length: u32, end: LogEnd) -> Self {
        Self {
            log,
            file,
            length,
            end,
            durable: end.place,
            is_closed: false,
            octets: Vec::new(),
        }
    }

    /// Makes a log in an empty folder. `start`: the state of the database from which it leads on, with the number of
    /// its last change.
    ///
    /// # Errors
    /// The folder has segments, or the disk is full or fails.
    pub fn create(files: &Arc<dyn LogFiles>, identity: LogIdentity, start: SegmentStart) -> Result<Self, StoreError> {
        let failed = |error| files.failed(1, error);
        if !files.numbers().map_err(failed)?.is_empty() {
            return Err(failed(ErrorKind::AlreadyExists.into()));
        }
        let log = Arc::new(SegmentLog::new(Arc::clone(files), identity));
        let header = Header {
            identity,
            number: 1,
            length: files.segment_length(),
            start,
        };
        let spare = log.take_ready(1, header.length)?;
        let mut octets = Vec::new();
        header.put(&mut octets);
        let written = spare.file.write_all_at(&octets, 0).map_err(|(_, error)| error);
        written.and_then(|()| spare.file.flush()).map_err(failed)?;
        let end = LogEnd::before_first(&header);
        log.add(header);
        Ok(Self::new(log, spare.file, spare.length, end))
    }

    /// The log, for readers.
    pub fn log(&self) -> &Arc<SegmentLog> {
        &self.log
    }

    /// The end of the log.
    pub fn end(&self) -> LogEnd {
        self.end
    }

    /// Up to where the log is on the disk.
    pub fn durable(&self) -> SegmentOffset {
        self.durable
    }

    /// Whether nothing can be appended any more.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Appends a frame, which is not on the disk before [`LogWriter::flush`] says so. Returns the end of the log.
    /// `before`: the context vector before the frame, and whether it covers all changes; it is asked when a segment
    /// begins.
    pub fn append(
        &mut self,
        new: &NewFrame<'_>,
        before: impl FnOnce() -> (ContextVector, bool),
    ) -> Result<LogEnd, AppendError> {
        if self.is_closed {
            return Err(AppendError::Closed);
        }
        let new = NewFrame {
            micros: new.micros.max(self.end.micros),
            ..*new
        };
        let octets = length_with(new.content.len());
        let behind = self.end.place.plus(octets);
        let end = match behind.filter(|behind| behind.offset <= self.length) {
            Some(behind) => self.append_here(&new, behind)?,
            None => self.append_in_next(&new, octets, before())?,
        };
        self.end = end;
        self.log.pass(end);
        Ok(end)
    }

    /// Puts all frames on the disk.
    pub fn flush(&mut self) -> Result<(), AppendError> {
        if self.is_closed {
            return Err(AppendError::Closed);
        }
        self.file.flush().map_err(|error| {
            self.is_closed = true;
            AppendError::Unknown(error)
        })?;
        self.durable = self.end.place;
        Ok(())
    }

    fn append_here(&mut self, new: &NewFrame<'_>, behind: SegmentOffset) -> Result<LogEnd, AppendError> {
        self.octets.clear();
        let around = self.around(self.end.place);
        let sum = frame::put(new, around, &mut self.octets).ok_or_else(too_long)?;
        let written = self.file.write_all_at(&self.octets, u64::from(self.end.place.offset));
        written.map_err(|failure| self.failed(failure))?;
        Ok(end_of(new, self.end.place.offset, behind, sum))
    }

    /// Begins the next segment with a frame of so many octets.
    fn append_in_next(
        &mut self,
        new: &NewFrame<'_>,
        octets: usize,
        (vector, covers_all): (ContextVector, bool),
    ) -> Result<LogEnd, AppendError> {
        let length = u32::try_from(octets_with(&vector) + octets).ok();
        let length = length.filter(|length| *length <= MOST).ok_or_else(too_long)?;
        let number = self.end.place.segment.checked_add(1).ok_or_else(too_long)?;
        // What is before a segment is on the disk when the segment begins.
        if self.durable < self.end.place {
            self.flush()?;
        }
        let spare = self.log.take_ready(number, length);
        let spare = spare.map_err(|error| AppendError::Refused(io::Error::other(error)))?;
        let header = Header {
            identity: self.log.identity,
            number,
            length: spare.length,
            start: SegmentStart {
                last: self.end.last,
                micros: self.end.micros,
                sum: self.end.sum,
                vector,
                covers_all,
            },
        };
        let first = header.first();
        self.octets.clear();
        header.put(&mut self.octets);
        let around = self.around(first);
        let (Some(sum), Some(behind)) = (frame::put(new, around, &mut self.octets), first.plus(octets)) else {
            self.log.give_back(spare);
            return Err(too_long());
        };
        if let Err(failure) = spare.file.write_all_at(&self.octets, 0) {
            let error = self.failed(failure);
            if !self.is_closed {
                self.log.give_back(spare);
            }
            return Err(error);
        }
        (self.file, self.length) = (spare.file, spare.length);
        self.log.add(header);
        Ok(end_of(new, first.offset, behind, sum))
    }

    fn around(&self, place: SegmentOffset) -> Surroundings {
        Surroundings {
            key: self.log.identity.key(place.segment),
            offset: place.offset,
            before: self.end.sum,
            durable: self.durable,
        }
    }

    /// What becomes of a write that failed after so many octets.
    fn failed(&mut self, (written, error): (usize, io::Error)) -> AppendError {
        let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        if written == 0 && is_full {
            return AppendError::Refused(error);
        }
        self.is_closed = true;
        AppendError::Unknown(error)
    }
}

fn end_of(new: &NewFrame<'_>, frame: u32, place: SegmentOffset, sum: u64) -> LogEnd {
    LogEnd {
        place,
        frame,
        sum,
        last: new.last,
        micros: new.micros,
    }
}

fn too_long() -> AppendError {
    AppendError::Refused(ErrorKind::FileTooLarge.into())
}
