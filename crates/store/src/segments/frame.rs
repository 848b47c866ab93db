//! Frames: the pieces of a log.
//!
//! ```text
//!  0  4 octets  length of the frame without padding (0: here is none)
//!  4  1         kind
//!  5  1         1: the context vector behind it does not cover all changes
//!  6  2         zeros
//!  8  8         number of the last change up to its end
//! 16  8         up to where the log was on the disk when it was written
//! 24  8         when it was written: microseconds since 1970, in two's complement
//! 32  8         sum of the frame before
//! 40  8         XXH3 of the content
//! 48  8         its own sum: XXH3 of the octets 0 to 47
//! 56            content, zeros to a multiple of 8
//! ```
//!
//! Numbers are little-endian. The seed of both hashes has the key of the segment ([`super::LogIdentity`]) and the place
//! in it: a frame counts only where it was written, and no content can be taken for a frame.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::SegmentOffset;

/// Octets before the content.
pub(super) const HEAD: usize = 56;
/// Frames begin at multiples of this.
pub(super) const ALIGNED: usize = 8;

const SUM_AT: usize = 48;

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// Changes, and perhaps notes of this server.
    Changes,
    /// Notes of this server without a change.
    Notes,
    /// The name of this place in the log.
    Mark,
    /// Entries were changed without records: what came before does not lead to what comes behind.
    Break,
}

impl FrameKind {
    const ALL: [Self; 4] = [Self::Changes, Self::Notes, Self::Mark, Self::Break];

    fn octet(self) -> u8 {
        match self {
            Self::Changes => 1,
            Self::Notes => 2,
            Self::Mark => 3,
            Self::Break => 4,
        }
    }

    fn of(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.octet() == octet)
    }
}

/// A frame that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewFrame<'a> {
    /// What it holds.
    pub kind: FrameKind,
    /// Number of the last change up to its end.
    pub last: u64,
    /// When it is written, in microseconds since 1970. If the clock was set back, the time of the frame before counts.
    pub micros: i64,
    /// Whether the context vector behind it covers all changes up to there.
    pub covers_all: bool,
    /// At most [`super::MOST`] octets, header and head included.
    pub content: &'a [u8],
}

/// A frame as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it holds.
    pub kind: FrameKind,
    /// Number of the last change up to its end.
    pub last: u64,
    /// When it was written, in microseconds since 1970.
    pub micros: i64,
    /// Whether the context vector behind it covers all changes up to there.
    pub covers_all: bool,
    /// The content.
    pub content: Vec<u8>,
    /// Where it begins.
    pub place: SegmentOffset,
    /// Where the next one begins, unless that is in the next segment.
    pub behind: SegmentOffset,
    /// Its sum: it stands for the whole log up to its end.
    pub sum: u64,
}

/// The head of a frame that was written where it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) kind: FrameKind,
    pub(super) covers_all: bool,
    /// Octets of the content.
    pub(super) content: usize,
    pub(super) last: u64,
    /// Up to where the log was on the disk.
    pub(super) durable: SegmentOffset,
    pub(super) micros: i64,
    /// The sum of the frame before.
    pub(super) before: u64,
    content_sum: u64,
    pub(super) sum: u64,
}

impl Head {
    /// Reads a head that is said to be at an offset of a segment with this key. `None`: here is none.
    pub(super) fn read(octets: &[u8; HEAD], key: u64, offset: u32) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(*octets.get(at..)?.first_chunk()?));
        let length = u32::from_le_bytes(*octets.first_chunk()?);
        let length = usize::try_from(length).ok().filter(|length| *length >= HEAD)?;
        let sum = number(SUM_AT)?;
        if sum != xxh3_64_with_seed(octets.get(..SUM_AT)?, seed(key, offset)) {
            return None;
        }
        let (kind, flags) = (FrameKind::of(*octets.get(4)?)?, *octets.get(5)?);
        (flags <= 1).then_some(Self {
            kind,
            covers_all: flags == 0,
            content: length - HEAD,
            last: number(8)?,
            durable: SegmentOffset::of(number(16)?),
            micros: number(24)?.cast_signed(),
            before: number(32)?,
            content_sum: number(40)?,
            sum,
        })
    }

    /// Octets of the whole frame, with padding.
    pub(super) fn length(&self) -> usize {
        (HEAD + self.content).next_multiple_of(ALIGNED)
    }

    /// Whether this is the content.
    pub(super) fn is_of(&self, content: &[u8], key: u64, offset: u32) -> bool {
        self.content == content.len() && self.content_sum == xxh3_64_with_seed(content, seed(key, offset))
    }
}

/// Octets of a frame with this content, with padding.
pub(super) fn length_with(content: usize) -> usize {
    (HEAD + content).next_multiple_of(ALIGNED)
}

/// Where a frame is written, and what is known there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// The key of the segment.
    pub(super) key: u64,
    pub(super) offset: u32,
    /// The sum of the frame before.
    pub(super) before: u64,
    /// Up to where the log is on the disk.
    pub(super) durable: SegmentOffset,
}

/// Appends a frame to `out`, and returns its sum. `None`: it is too long.
pub(super) fn put(frame: &NewFrame<'_>, around: Surroundings, out: &mut Vec<u8>) -> Option<u64> {
    let seed = seed(around.key, around.offset);
    let length = u32::try_from(HEAD + frame.content.len()).ok()?;
    let from = out.len();
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[frame.kind.octet(), u8::from(!frame.covers_all), 0, 0]);
    for number in [
        frame.last,
        around.durable.number(),
        frame.micros.cast_unsigned(),
        around.before,
        xxh3_64_with_seed(frame.content, seed),
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let sum = xxh3_64_with_seed(out.get(from..)?, seed);
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(frame.content);
    out.resize(from + length_with(frame.content.len()), 0);
    Some(sum)
}

fn seed(key: u64, offset: u32) -> u64 {
    key.wrapping_add(u64::from(offset))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn around(offset: u32) -> Surroundings {
        Surroundings {
            key: 77,
            offset,
            before: 5,
            durable: SegmentOffset {
                segment: 3,
                offset: 4096,
            },
        }
    }

    proptest! {
        #[test]
        fn a_frame_counts_where_it_was_written_and_nowhere_else(
            content in prop::collection::vec(any::<u8>(), 0..300),
            last: u64,
            micros: i64,
            kind in 0usize..4,
            covers_all: bool,
            at in 0usize..400,
            bit in 0u8..8,
        ) {
            let kind = FrameKind::ALL[kind];
            let new = NewFrame { kind, last, micros, covers_all, content: &content };
            let mut octets = Vec::new();
            let sum = put(&new, around(4096), &mut octets).unwrap();
            prop_assert_eq!(octets.len() % ALIGNED, 0);
            let read = |octets: &[u8], key, offset| {
                let head = Head::read(octets.first_chunk()?, key, offset)?;
                let content = octets.get(HEAD..HEAD + head.content)?;
                head.is_of(content, key, offset).then_some(head)
            };
            let head = read(&octets, 77, 4096).unwrap();
            prop_assert_eq!((head.kind, head.last, head.micros, head.covers_all), (kind, last, micros, covers_all));
            prop_assert_eq!((head.sum, head.before, head.durable.number()), (sum, 5, 3 << 32 | 4096));
            prop_assert_eq!(head.length(), octets.len());
            prop_assert_eq!(read(&octets, 77, 4104), None);
            prop_assert_eq!(read(&octets, 78, 4096), None);
            // Any bit but one of the padding.
            let at = at % (HEAD + content.len());
            octets[at] ^= 1 << bit;
            prop_assert_eq!(read(&octets, 77, 4096), None);
        }
    }
}
