//! A row of `changes`: the changes of one commit, or a part of them.
//!
//! Its key is the number of its last change. Changes that are made together share most of their text, so they are
//! compressed together. A row of eight modifications takes about a third of the space of eight rows, and a commit
//! writes fewer pages.
//!
//! ```text
//! byte     form: 0 records as they are, 1 LZ4 block
//! 8 bytes  when the last change was made: microseconds since 1970, in two's complement
//! varint   number of changes
//! varint   number of CSNs
//! csn ...  the greatest of each server behind these changes (16 bytes each)
//! varint   length of the records
//! records  each: varint length, change record (`change/codec.rs`)
//! ```

use std::borrow::Cow;

use crate::{
    ChangeRecord,
    csn::{ContextVector, OCTETS},
    varint,
};

const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// The least length of records that makes a row complete, in bytes.
pub(crate) const FULL: usize = 64 << 10;
/// The content of a block is at most this many times as long as the block.
const MAX_EXPANSION: usize = 255;

/// The changes of a transaction that wait to be written as a row.
#[derive(Default)]
pub(crate) struct GatheredChanges {
    records: Vec<u8>,
    count: u64,
    unix_micros: i64,
}

impl GatheredChanges {
    /// Adds a record. `scratch` is overwritten.
    pub(crate) fn push(&mut self, record: &ChangeRecord, scratch: &mut Vec<u8>) {
        scratch.clear();
        record.encode(scratch);
        varint::put(&mut self.records, scratch.len() as u64);
        self.records.extend_from_slice(scratch);
        self.count += 1;
        self.unix_micros = record.unix_micros;
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the changes should be written as a row before more are added.
    pub(crate) fn is_full(&self) -> bool {
        self.records.len() >= FULL
    }

    /// Appends the row and empties the buffer. `vector` is the context vector after these changes.
    pub(crate) fn take_row(&mut self, vector: &ContextVector, out: &mut Vec<u8>) {
        let form_at = out.len();
        out.push(PLAIN);
        out.extend_from_slice(&self.unix_micros.to_be_bytes());
        varint::put(out, self.count);
        let csns = vector.encode();
        varint::put(out, (csns.len() / OCTETS) as u64);
        out.extend_from_slice(&csns);
        varint::put(out, self.records.len() as u64);
        let from = out.len();
        out.resize(from + lz4_flex::block::get_maximum_output_size(self.records.len()), 0);
        let block = out.get_mut(from..).unwrap_or_default();
        match lz4_flex::block::compress_into(&self.records, block) {
            Ok(length) if length < self.records.len() => {
                out.truncate(from + length);
                if let Some(form) = out.get_mut(form_at) {
                    *form = LZ4;
                }
            }
            _ => {
                out.truncate(from);
                out.extend_from_slice(&self.records);
            }
        }
        self.records.clear();
        self.count = 0;
    }
}

/// A row as it is read.
pub(crate) struct ChangesRow<'r> {
    /// When its last change was made, in microseconds since 1970.
    pub(crate) unix_micros: i64,
    /// Number of changes, 1 at least.
    pub(crate) count: u64,
    csns: &'r [u8],
    form: u8,
    length: usize,
    block: &'r [u8],
}

impl<'r> ChangesRow<'r> {
    /// Reads all but the records. `None`: damaged.
    pub(crate) fn read(row: &'r [u8]) -> Option<Self> {
        let (&form, rest) = row.split_first()?;
        let (micros, mut rest) = rest.split_first_chunk()?;
        let count = varint::take(&mut rest)?;
        let csns = usize::try_from(varint::take(&mut rest)?).ok()?.checked_mul(OCTETS)?;
        let (csns, mut block) = rest.split_at_checked(csns)?;
        let length = usize::try_from(varint::take(&mut block)?).ok()?;
        let is_possible = match form {
            PLAIN => length == block.len(),
            LZ4 => length / MAX_EXPANSION <= block.len(),
            _ => false,
        };
        // Each record takes two bytes at least.
        (is_possible && count > 0 && count <= length as u64).then_some(Self {
            unix_micros: i64::from_be_bytes(*micros),
            count,
            csns,
            form,
            length,
            block,
        })
    }

    /// The number of the first change, if `last` is the number of the last one.
    pub(crate) fn first_of(&self, last: u64) -> Option<u64> {
        last.checked_sub(self.count - 1).filter(|first| *first > 0)
    }

    /// The greatest CSN of each server after the changes. `None`: damaged.
    pub(crate) fn vector(&self) -> Option<ContextVector> {
        ContextVector::decode(self.csns)
    }

    /// The records, each behind its length: [`take_record`]. `None`: damaged.
    pub(crate) fn records(&self) -> Option<Cow<'r, [u8]>> {
        if self.form == PLAIN {
            return Some(Cow::Borrowed(self.block));
        }
        let mut records = vec![0; self.length];
        let length = lz4_flex::block::decompress_into(self.block, &mut records).ok()?;
        (length == self.length).then_some(Cow::Owned(records))
    }
}

/// The bytes of the next record; moves `records` behind them. `None`: damaged.
pub(crate) fn take_record<'r>(records: &mut &'r [u8]) -> Option<&'r [u8]> {
    let length = usize::try_from(varint::take(records)?).ok()?;
    let (record, rest) = records.split_at_checked(length)?;
    *records = rest;
    Some(record)
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
        let (mut gathered, mut out) = (GatheredChanges::default(), Vec::new());
        for record in records {
            gathered.push(record, &mut Vec::new());
        }
        gathered.take_row(vector, &mut out);
        assert!(gathered.is_empty());
        out
    }

    proptest! {
        #[test]
        fn changes_come_back_from_their_row(authors in prop::collection::vec(".{0,80}", 1..20), servers in 0u16..4) {
            let records: Vec<_> = (1..).zip(&authors).map(|(number, author)| record(number, author)).collect();
            let csn = |server| Csn::parse(format!("20260101000000.000000Z#000000#{server:03x}#000000").as_bytes());
            let vector: ContextVector = (0..servers).filter_map(csn).collect();
            let bytes = row_of(&records, &vector);
            let row = ChangesRow::read(&bytes).unwrap();
            let last = records.len() as u64;
            prop_assert_eq!((row.count, row.unix_micros), (last, i64::try_from(last).unwrap() - 2));
            prop_assert_eq!(row.first_of(last), Some(1));
            prop_assert_eq!(row.first_of(last - 1), None);
            prop_assert_eq!(row.vector(), Some(vector));
            let all = row.records().unwrap();
            let mut rest = &*all;
            let mut found = Vec::new();
            while !rest.is_empty() {
                found.push(ChangeRecord::decode(take_record(&mut rest).unwrap()).unwrap());
            }
            prop_assert_eq!(found, records);
        }

        #[test]
        fn damage_is_noticed_or_harmless(at in 0usize..400, bit in 0u8..8, cut in 0usize..400) {
            let records: Vec<_> = (1..9).map(|number| record(number, "cn=admin,dc=example,dc=com")).collect();
            let mut bytes = row_of(&records, &ContextVector::default());
            let length = bytes.len();
            bytes[at % length] ^= 1 << bit;
            for bytes in [&bytes[..], &bytes[..cut % length]] {
                let Some(records) = ChangesRow::read(bytes).and_then(|row| row.records()) else {
                    continue;
                };
                let mut rest = &*records;
                while let Some(record) = take_record(&mut rest) {
                    let _ = ChangeRecord::decode(record);
                }
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
            together.len() < alone.len() * 3,
            "{} and {}",
            alone.len(),
            together.len()
        );
        let impossible = [&[LZ4][..], &[0; 8], &[1, 0, 0xf0, 0xff, 0xff, 0xff, 0xff], &[0; 9]].concat();
        assert!(
            ChangesRow::read(&impossible).is_none(),
            "no memory for what cannot come out"
        );
    }
}
