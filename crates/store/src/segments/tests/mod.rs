//! Logs on a disk that fails and loses its power.

#![allow(clippy::cast_possible_truncation, clippy::indexing_slicing, reason = "tests")]

mod cuts;
mod damage;
mod disk;
mod faults;
mod reading;

use std::sync::Arc;

use disk::Disk;
use ironbark_runtime::Randomness;

use super::{
    AppendError, Frame, FrameKind, LogEnd, LogFiles, LogIdentity, LogWriter, NewFrame, Opened, SegmentStart, open,
};
use crate::{ContextVector, StoreError};

const IDENTITY: LogIdentity = LogIdentity {
    generation: 0x1b02_77a1_0000_beef,
    database: *b"sixteen octets..",
};

/// Numbers that a seed repeats.
struct Numbers(Randomness);

impl Numbers {
    fn of(seed: u64) -> Self {
        Self(Randomness::seeded(seed))
    }

    fn below(&mut self, most: usize) -> usize {
        let number = u64::from_le_bytes(self.0.bytes().unwrap());
        (number % most as u64) as usize
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        let mut octets = vec![0; count];
        self.0.fill(&mut octets).unwrap();
        octets
    }
}

/// The number of cases: `IRONBARK_CASES` for a longer run.
fn cases(usual: u64) -> u64 {
    std::env::var("IRONBARK_CASES").map_or(usual, |cases| cases.parse().unwrap())
}

fn start() -> SegmentStart {
    SegmentStart {
        last: 0,
        micros: 0,
        sum: 0,
        vector: ContextVector::default(),
        covers_all: true,
    }
}

fn files(disk: &Disk) -> Arc<dyn LogFiles> {
    Arc::new(disk.clone())
}

fn create(disk: &Disk) -> Result<LogWriter, StoreError> {
    LogWriter::create(&files(disk), IDENTITY, start())
}

fn reopen(disk: &Disk, known: Option<LogEnd>) -> Result<Option<Opened>, StoreError> {
    open(&files(disk), IDENTITY, known)
}

/// Appends changes up to a number.
fn append(writer: &mut LogWriter, last: u64, content: &[u8]) -> Result<LogEnd, AppendError> {
    let new = NewFrame {
        kind: FrameKind::Changes,
        last,
        micros: 1_000 * last.cast_signed(),
        covers_all: true,
        content,
    };
    writer.append(&new, || (ContextVector::default(), true))
}

/// All frames between two places.
fn frames(writer: &LogWriter, begin: LogEnd) -> Vec<Frame> {
    let frames = writer.log().frames_behind(begin, writer.end().place).unwrap();
    frames.map(Result::unwrap).collect()
}

/// A content whose length is that of real ones: mostly short, sometimes long, rarely longer than a segment.
fn content(numbers: &mut Numbers) -> Vec<u8> {
    let count = match numbers.below(40) {
        0 => numbers.below(3 * disk::SEGMENT as usize),
        1..4 => numbers.below(6_000),
        _ => numbers.below(400),
    };
    numbers.octets(count)
}
