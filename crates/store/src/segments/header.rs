//! The header of a segment.
//!
//! ```text
//!  0  8 octets  "IBLOG001"
//!  8  4         octets of the header, a multiple of 4,096: here the first frame begins
//! 12  4         octets of the segment
//! 16  4         number of the segment
//! 20  4         1: the context vector before it does not cover all changes
//! 24  8         random number of the log
//! 32 16         identifier of the database
//! 48  8         number of the last change before it
//! 56  8         when the last frame before it was written: microseconds since 1970, in two's complement
//! 64  8         sum of the last frame before it
//! 72  8         sum of this header: XXH3 of all its other octets
//! 80  8         number of CSNs
//! 88 16 each    the context vector before it
//!               zeros to the end of the header
//! ```
//!
//! Numbers are little-endian.

use xxhash_rust::xxh3::Xxh3;

use super::{MOST, SegmentOffset};
use crate::{ContextVector, csn::OCTETS};

const MAGIC: &[u8; 8] = b"IBLOG001";
/// Headers have a multiple of so many octets.
pub(super) const PAGE: usize = 4096;
const SUM_AT: usize = 72;
const CSNS_AT: usize = 88;

/// Whose log it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogIdentity {
    /// The random number of the log.
    pub generation: u64,
    /// The identifier of the database.
    pub database: [u8; 16],
}

impl LogIdentity {
    /// What the sums of the frames of a segment are made with. It does not stand in the segment: frames are known as
    /// such even if the header is damaged, and nobody else can make octets that look like one.
    pub(super) fn key(&self, segment: u32) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&self.database);
        hash.update(&self.generation.to_le_bytes());
        hash.update(&segment.to_le_bytes());
        hash.digest()
    }
}

/// What is known at the begin of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentStart {
    /// Number of the last change before it.
    pub last: u64,
    /// When the last frame before it was written, in microseconds since 1970.
    pub micros: i64,
    /// Sum of the last frame before it; 0 before the first one.
    pub sum: u64,
    /// The context vector before it.
    pub vector: ContextVector,
    /// Whether that vector covers all changes.
    pub covers_all: bool,
}

/// A header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) identity: LogIdentity,
    /// The number of the segment.
    pub(super) number: u32,
    /// Octets of the segment.
    pub(super) length: u32,
    pub(super) start: SegmentStart,
}

/// What stands where a header should be.
#[derive(Debug)]
pub(super) enum Found {
    /// A header.
    Header(Box<Header>),
    /// Zeros: the segment has not begun.
    Zeros,
    /// A header of a later version.
    Later,
    /// Something else: it is torn or damaged, or a file of something else.
    Other,
}

impl Header {
    /// Octets of the header.
    pub(super) fn octets(&self) -> usize {
        octets_with(&self.start.vector)
    }

    /// Where the first frame begins.
    pub(super) fn first(&self) -> SegmentOffset {
        SegmentOffset {
            segment: self.number,
            // Less than `MOST`, or it was not read or written.
            offset: u32::try_from(self.octets()).unwrap_or(MOST),
        }
    }

    /// Appends it.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let (from, octets) = (out.len(), self.octets());
        out.extend_from_slice(MAGIC);
        // No vector is that long: there are 4,097 servers.
        out.extend_from_slice(&u32::try_from(octets).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&u32::from(!self.start.covers_all).to_le_bytes());
        out.extend_from_slice(&self.identity.generation.to_le_bytes());
        out.extend_from_slice(&self.identity.database);
        let csns = self.start.vector.encode();
        let SegmentStart { last, micros, sum, .. } = self.start;
        for number in [last, micros.cast_unsigned(), sum, 0, (csns.len() / OCTETS) as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&csns);
        out.resize(from + octets, 0);
        let header = out.get_mut(from..).unwrap_or_default();
        let sum = sum_of(header);
        if let Some(place) = header.get_mut(SUM_AT..SUM_AT + 8) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Reads one, with `more` for octets behind the first [`PAGE`].
    pub(super) fn read<E>(page: &[u8; PAGE], more: impl FnOnce(usize) -> Result<Vec<u8>, E>) -> Result<Found, E> {
        if page.iter().all(|octet| *octet == 0) {
            return Ok(Found::Zeros);
        }
        let (magic, version) = (page.first_chunk::<5>(), page.get(5..8));
        if magic != MAGIC.first_chunk() || version.is_none_or(|version| !version.iter().all(u8::is_ascii_digit)) {
            return Ok(Found::Other);
        }
        if page.first_chunk() != Some(MAGIC) {
            return Ok(Found::Later);
        }
        let octets = short(page, 8).and_then(|octets| usize::try_from(octets).ok());
        let Some(octets) = octets.filter(|octets| octets.is_multiple_of(PAGE) && (PAGE..=LONGEST).contains(octets))
        else {
            return Ok(Found::Other);
        };
        let whole = if octets == PAGE { page.to_vec() } else { more(octets)? };
        let header = (whole.len() == octets).then(|| Self::of(&whole)).flatten();
        Ok(header.map_or(Found::Other, |header| Found::Header(Box::new(header))))
    }

    fn of(octets: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(*octets.get(at..)?.first_chunk()?));
        if number(SUM_AT)? != sum_of(octets) {
            return None;
        }
        let csns = usize::try_from(number(80)?).ok()?.checked_mul(OCTETS)?;
        let start = SegmentStart {
            last: number(48)?,
            micros: number(56)?.cast_signed(),
            sum: number(64)?,
            vector: ContextVector::decode(octets.get(CSNS_AT..CSNS_AT.checked_add(csns)?)?)?,
            covers_all: short(octets, 20)? == 0,
        };
        let header = Self {
            identity: LogIdentity {
                generation: number(24)?,
                database: *octets.get(32..)?.first_chunk()?,
            },
            number: short(octets, 16)?,
            length: short(octets, 12)?,
            start,
        };
        (header.octets() == octets.len() && header.length <= MOST).then_some(header)
    }
}

/// Octets of the longest header: each server has an ID of 12 bits, and one CSN.
const LONGEST: usize = (CSNS_AT + 4_097 * OCTETS).next_multiple_of(PAGE);

/// Octets of a header with this vector.
pub(super) fn octets_with(vector: &ContextVector) -> usize {
    (CSNS_AT + vector.encode().len()).next_multiple_of(PAGE)
}

fn short(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*octets.get(at..)?.first_chunk()?))
}

fn sum_of(header: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header.get(..SUM_AT).unwrap_or_default());
    hash.update(header.get(SUM_AT + 8..).unwrap_or_default());
    hash.digest()
}
