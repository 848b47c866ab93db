//! A row of `changes`: some changes, one after the other.
//!
//! Its key is the number of its last change. Changes share most of their text, which stands in a row once
//! (`change/codec.rs`). A long row is compressed besides.
//!
//! ```text
//! byte     form: 6 records as they are, 7 LZ4 block (twice the version of the records, and 1 more); and 128, if behind
//!          each of its changes the CSNs do not cover all that came before: a refresh brings changes in any order
//! 8 bytes  when the last change was made: microseconds since 1970, in two's complement
//! varint   number of changes
//! varint   number of CSNs
//! csn ...  the greatest of each server behind these changes (16 bytes each)
//! varint   length of the records
//! records  one after the other
//! ```

use std::{borrow::Cow, ops::Range};

use crate::{
    ChangeRecord, StoreError,
    change::codec::{Shared, VERSION},
    csn::{ContextVector, OCTETS},
    log::damaged,
    tables::Tables,
    varint,
};

const PLAIN: u8 = 2 * VERSION;
const LZ4: u8 = PLAIN + 1;
/// Flag of the form: behind each change of the row, some changes up to there are not covered by the vector.
const UNCOVERED: u8 = 0x80;

/// The least length of records that are compressed, in bytes: a shorter row has a page of LMDB for itself anyway.
const COMPRESSED: usize = 4096;

/// The least length of records that makes a row complete, in bytes.
pub(crate) const FULL: usize = 64 << 10;
/// Ten seconds, in microseconds. A row of the shortest changes, which come one by one, spans less than an hour then.
const MOMENT: i64 = 10_000_000;
/// Octets of the records of a usual row.
const USUAL: usize = 1000;
/// The content of a block is at most this many times as long as the block.
pub(super) const MAX_EXPANSION: usize = 255;

/// The last row of the log while changes are added to it.
#[derive(Default)]
pub(crate) struct OpenRow {
    records: Vec<u8>,
    shared: Shared,
    count: u64,
    /// Number of its last change.
    pub(crate) last: u64,
    unix_micros: i64,
    /// Whether the vector covers all changes, behind each of the row. It does behind all of them, or behind none.
    pub(crate) covers_all: bool,
    /// The context vector as it was last written with the row. `None`: the row was not written yet.
    pub(crate) vector: Option<ContextVector>,
}

impl OpenRow {
    /// Reads a row that waits, to add changes to it. `None`: damaged.
    pub(crate) fn read(last: u64, row: &ChangesRow<'_>) -> Option<Self> {
        let mut open = Self {
            records: row.records()?.into_owned(),
            count: row.count,
            last,
            unix_micros: row.unix_micros,
            covers_all: row.covers_all,
            vector: Some(row.vector()?),
            ..Self::default()
        };
        let mut at = 0;
        while at < open.records.len() {
            ChangeRecord::take(&open.records, &mut at, &mut open.shared)?;
        }
        Some(open)
    }

    /// Whether a change goes into this row: it is the next one, and was made a moment after the last. The changes of a
    /// row are deleted together, so they must not be far apart.
    pub(crate) fn may_hold(&self, next: &ChangeRecord, covers_all: bool) -> bool {
        self.covers_all == covers_all
            && self.last.checked_add(1) == Some(next.position.sequence)
            && next.unix_micros.saturating_sub(self.unix_micros) < MOMENT
    }

    /// Adds a record. `covers_all`: whether the vector covers all changes up to it.
    pub(crate) fn push(&mut self, record: &ChangeRecord, covers_all: bool) {
        if self.records.is_empty() {
            self.records.reserve(USUAL);
            self.covers_all = covers_all;
        }
        record.append(&mut self.records, &mut self.shared);
        self.count += 1;
        self.last = record.position.sequence;
        self.unix_micros = record.unix_micros;
    }

    /// Octets of its records.
    pub(crate) fn length(&self) -> usize {
        self.records.len()
    }

    /// Whether a new row should begin before more changes are added.
    pub(crate) fn is_full(&self) -> bool {
        self.records.len() >= FULL
    }

    /// Appends the row to `out`. `vector` is the context vector after its changes.
    pub(crate) fn put(&mut self, vector: ContextVector, out: &mut Vec<u8>) {
        let form_at = out.len();
        out.push(PLAIN);
        out.extend_from_slice(&self.unix_micros.to_be_bytes());
        varint::put(out, self.count);
        let csns = vector.encode();
        varint::put(out, (csns.len() / OCTETS) as u64);
        out.extend_from_slice(&csns);
        varint::put(out, self.records.len() as u64);
        if !compress(&self.records, out) {
            out.extend_from_slice(&self.records);
        } else if let Some(form) = out.get_mut(form_at) {
            *form = LZ4;
        }
        if let Some(form) = out.get_mut(form_at).filter(|_| !self.covers_all) {
            *form |= UNCOVERED;
        }
        self.vector = Some(vector);
    }
}

/// Appends the records as an LZ4 block; `false`: they would not be shorter.
pub(super) fn compress(records: &[u8], out: &mut Vec<u8>) -> bool {
    if records.len() < COMPRESSED {
        return false;
    }
    let from = out.len();
    out.resize(from + lz4_flex::block::get_maximum_output_size(records.len()), 0);
    let block = out.get_mut(from..).unwrap_or_default();
    let length = lz4_flex::block::compress_into(records, block);
    let length = length.ok().filter(|&length| length < records.len());
    out.truncate(from + length.unwrap_or(0));
    length.is_some()
}

/// A row as it is read.
pub(crate) struct ChangesRow<'r> {
    /// When its last change was made, in microseconds since 1970.
    pub(crate) unix_micros: i64,
    /// Number of changes, 1 at least.
    pub(crate) count: u64,
    /// Whether the vector covers all changes, behind each of the row.
    pub(crate) covers_all: bool,
    row: Cow<'r, [u8]>,
    csns: Range<usize>,
    form: u8,
    length: usize,
    block: Range<usize>,
}

impl<'r> ChangesRow<'r> {
    /// Reads all but the records. `None`: damaged.
    pub(crate) fn read(row: Cow<'r, [u8]>) -> Option<Self> {
        let (&first, rest) = row.split_first()?;
        let (form, covers_all) = (first & !UNCOVERED, first & UNCOVERED == 0);
        let (micros, mut rest) = rest.split_first_chunk()?;
        let unix_micros = i64::from_be_bytes(*micros);
        let count = varint::take(&mut rest)?;
        let csns = usize::try_from(varint::take(&mut rest)?).ok()?.checked_mul(OCTETS)?;
        let csns_from = row.len() - rest.len();
        let (_, mut block) = rest.split_at_checked(csns)?;
        let length = usize::try_from(varint::take(&mut block)?).ok()?;
        let is_possible = match form {
            PLAIN => length == block.len(),
            LZ4 => length / MAX_EXPANSION <= block.len(),
            _ => false,
        };
        let block_from = row.len() - block.len();
        // Each record takes two bytes at least.
        (is_possible && count > 0 && count <= length as u64).then(|| Self {
            unix_micros,
            count,
            covers_all,
            csns: csns_from..csns_from + csns,
            form,
            length,
            block: block_from..row.len(),
            row,
        })
    }

    /// The number of the first change, if `last` is the number of the last one.
    pub(crate) fn first_of(&self, last: u64) -> Option<u64> {
        last.checked_sub(self.count - 1).filter(|first| *first > 0)
    }

    /// The greatest CSN of each server after the changes. `None`: damaged.
    pub(crate) fn vector(&self) -> Option<ContextVector> {
        ContextVector::decode(self.row.get(self.csns.clone())?)
    }

    /// The records: see [`ChangeRecord::take`]. `None`: damaged.
    pub(crate) fn records(&self) -> Option<Cow<'_, [u8]>> {
        let block = self.row.get(self.block.clone())?;
        if self.form == PLAIN {
            return Some(Cow::Borrowed(block));
        }
        let mut records = vec![0; self.length];
        let length = lz4_flex::block::decompress_into(block, &mut records).ok()?;
        (length == self.length).then_some(Cow::Owned(records))
    }
}

/// A row of the log.
pub(crate) struct NumberedRow<'r> {
    pub(crate) row: ChangesRow<'r>,
    /// Number of its first change.
    pub(crate) first: u64,
    /// Number of its last change.
    pub(crate) last: u64,
    pub(crate) octets: u64,
}

/// Reads a row as it is stored, with its number.
pub(crate) fn read_row<'r>(tables: &Tables, last: u64, mut row: Cow<'r, [u8]>) -> Result<NumberedRow<'r>, StoreError> {
    let octets = row.len() as u64;
    let mut read = || {
        let length = tables.unseal(last, &row)?.len();
        match &mut row {
            Cow::Borrowed(row) => *row = row.get(..length)?,
            Cow::Owned(row) => row.truncate(length),
        }
        let row = ChangesRow::read(std::mem::take(&mut row))?;
        Some(NumberedRow {
            first: row.first_of(last)?,
            row,
            last,
            octets,
        })
    };
    read().ok_or_else(|| damaged(&format!("the row of change {last}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;
    use crate::{Csn, change::Position};

    fn record(sequence: u64, author: &str) -> ChangeRecord {
        ChangeRecord {
            position: Position {
                generation: 7,
                sequence,
            },
            unix_micros: i64::try_from(sequence).unwrap() - 2,
            author: author.into(),
            ..ChangeRecord::default()
        }
    }

    fn row_of(records: &[ChangeRecord], vector: &ContextVector) -> Vec<u8> {
        let (mut open, mut out) = (OpenRow::default(), Vec::new());
        for record in records {
            open.push(record, true);
        }
        open.put(vector.clone(), &mut out);
        out
    }

    proptest! {
        #[test]
        fn changes_come_back_from_their_row(authors in prop::collection::vec(".{0,80}", 1..20), servers in 0u16..4) {
            let records: Vec<_> = (1..).zip(&authors).map(|(number, author)| record(number, author)).collect();
            let csn = |server| Csn::parse(format!("20260101000000.000000Z#000000#{server:03x}#000000").as_bytes());
            let vector: ContextVector = (0..servers).filter_map(csn).collect();
            let bytes = row_of(&records, &vector);
            let row = ChangesRow::read(Cow::Borrowed(&bytes)).unwrap();
            let last = records.len() as u64;
            prop_assert_eq!((row.count, row.unix_micros), (last, i64::try_from(last).unwrap() - 2));
            prop_assert_eq!(row.first_of(last), Some(1));
            prop_assert_eq!(row.first_of(last - 1), None);
            prop_assert_eq!(row.vector(), Some(vector));
            let all = row.records().unwrap();
            let (mut at, mut shared, mut found) = (0, Shared::default(), Vec::new());
            while at < all.len() {
                found.push(ChangeRecord::take(&all, &mut at, &mut shared).unwrap());
            }
            prop_assert_eq!(found, records);
        }

        #[test]
        fn a_row_goes_on_where_it_ended(authors in prop::collection::vec("[a-z]{0,80}", 2..20), at in 1usize..20) {
            let records: Vec<_> = (1..).zip(&authors).map(|(number, author)| record(number, author)).collect();
            let at = at.min(records.len() - 1);
            let first = row_of(&records[..at], &ContextVector::default());
            let first = ChangesRow::read(Cow::Borrowed(&first)).unwrap();
            let mut open = OpenRow::read(at as u64, &first).unwrap();
            for record in &records[at..] {
                open.push(record, true);
            }
            let mut out = Vec::new();
            open.put(ContextVector::default(), &mut out);
            prop_assert_eq!(open.last, records.len() as u64);
            prop_assert_eq!(out, row_of(&records, &ContextVector::default()));
        }

        #[test]
        fn damage_is_noticed_or_harmless(at in 0usize..400, bit in 0u8..8, cut in 0usize..400) {
            let records: Vec<_> = (1..9).map(|number| record(number, "cn=admin,dc=example,dc=com")).collect();
            let mut bytes = row_of(&records, &ContextVector::default());
            let length = bytes.len();
            bytes[at % length] ^= 1 << bit;
            for bytes in [&bytes[..], &bytes[..cut % length]] {
                let row = ChangesRow::read(Cow::Borrowed(bytes));
                let Some(records) = row.as_ref().and_then(ChangesRow::records) else {
                    continue;
                };
                let (mut at, mut shared) = (0, Shared::default());
                while ChangeRecord::take(&records, &mut at, &mut shared).is_some() {}
            }
        }
    }

    #[test]
    fn changes_of_one_kind_take_little_room() {
        let author = "uid=somebody,ou=people,dc=example,dc=com";
        let alone = row_of(&[record(1, author)], &ContextVector::default());
        let records: Vec<_> = (1..9).map(|number| record(number, author)).collect();
        let together = row_of(&records, &ContextVector::default());
        assert!(
            together.len() < alone.len() * 4,
            "{} and {}",
            alone.len(),
            together.len()
        );
        let impossible = [&[LZ4][..], &[0; 8], &[1, 0, 0xf0, 0xff, 0xff, 0xff, 0xff], &[0; 9]].concat();
        assert!(
            ChangesRow::read(Cow::Owned(impossible)).is_none(),
            "no memory for what cannot come out"
        );
    }
}
