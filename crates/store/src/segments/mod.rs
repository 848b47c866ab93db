//! A log in files of its own: frames one after the other, in segments. It knows nothing of LMDB or of what a frame
//! holds.
//!
//! ```text
//! 00000001.log  header (`header.rs`), frames (`frame.rs`), zeros to the end
//! 00000002.log  ...
//! 00000003.log  zeros: the next segment lies ready
//! ```
//!
//! Invariants:
//! - Each frame has the sum of the frame before it, so frames are a chain, across segments too. A segment's header has
//!   the sum of the last frame before it.
//! - A segment begins when all frames before it are on the disk.
//! - Behind the last frame a segment has zeros, but for what a crash has torn. Opening a log writes zeros there.
//! - Each frame says up to where the log was on the disk when it was written. So a frame that cannot be read and lies
//!   before such a place proves damage. Any other one was torn by a crash, and nobody was told that it is there.
//! - After a failed write or flush nothing is written any more: the frame may be on the disk or not, and a flush that
//!   succeeds later proves nothing.

mod files;
mod frame;
mod header;
mod index;
mod opening;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use files::{LogFile, LogFiles, LogFolder};
pub use frame::{Frame, FrameKind, NewFrame};
pub use header::{LogIdentity, SegmentStart};
pub use index::SegmentLog;
pub use opening::{LogEnd, Opened, Tail, open};
pub use reader::Frames;
pub use writer::{AppendError, LogWriter};

use std::fmt;

/// Usual length of a segment in octets.
pub const SEGMENT: u32 = 4 << 20;

/// The most octets of a segment, and so of a frame: a frame that is longer than a usual segment has one for itself.
pub const MOST: u32 = 1 << 30;

/// A place in a log: between two frames, or at an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SegmentOffset {
    /// The number of the segment, from 1 on.
    pub segment: u32,
    /// Octets from its begin.
    pub offset: u32,
}

impl SegmentOffset {
    /// Both in one number; later places have greater ones.
    pub fn number(self) -> u64 {
        u64::from(self.segment) << 32 | u64::from(self.offset)
    }

    /// The place with this [`SegmentOffset::number`].
    pub fn of(number: u64) -> Self {
        let [s0, s1, s2, s3, o0, o1, o2, o3] = number.to_be_bytes();
        Self {
            segment: u32::from_be_bytes([s0, s1, s2, s3]),
            offset: u32::from_be_bytes([o0, o1, o2, o3]),
        }
    }

    /// The place so many octets later in the same segment. `None`: no segment is that long.
    fn plus(self, octets: usize) -> Option<Self> {
        let offset = u32::try_from(octets).ok()?.checked_add(self.offset)?;
        Some(Self { offset, ..self })
    }
}

impl fmt::Display for SegmentOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}.log at {}", self.segment, self.offset)
    }
}
