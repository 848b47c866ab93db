//! A row of the log: changes that follow one another.
//!
//! Its key is the number of its last change. The changes of a commit are a block, compressed together, because they
//! share most of their text; a block may refer to the end of the records before it. So a modification takes about a
//! fifth of the space that it takes alone, and a commit writes fewer pages.
//!
//! ```text
//! 8 bytes  when the last change was made: microseconds since 1970, in two's complement
//! varint   number of changes
//! varint   number of CSNs
//! csn ...  the greatest of each server behind these changes (16 bytes each)
//! blocks   each: byte form (0 records as they are, 1 LZ4 block), varint length of its records,
//!          varint length of what follows, the records in that form
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

/// The least length of records that are written as a row before the commit, in octets.
pub(crate) const FULL: usize = 64 << 10;
/// Octets of records that a block may refer to.
const DICTIONARY: usize = 2048;
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

    /// Empties the buffer.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.count = 0;
    }

    /// Appends the row of the changes, behind those of the row `former` if they are added to that; with it comes the
    /// [tail] of its records. `vector` is the context vector after them.
    pub(crate) fn put_row(&self, former: Option<(&ChangesRow<'_>, &[u8])>, vector: &ContextVector, out: &mut Vec<u8>) {
        let (count, blocks, dictionary) = match former {
            Some((row, dictionary)) => (row.count, row.blocks, dictionary),
            None => (0, &[][..], &[][..]),
        };
        out.extend_from_slice(&self.unix_micros.to_be_bytes());
        varint::put(out, count + self.count);
        let csns = vector.encode();
        varint::put(out, (csns.len() / OCTETS) as u64);
        out.extend_from_slice(&csns);
        out.extend_from_slice(blocks);
        put_block(&self.records, dictionary, out);
    }

    /// Brings the [tail] of a row's records up to date when these changes are added to it.
    pub(crate) fn extend_dictionary(&self, dictionary: &mut Vec<u8>) {
        let records = tail(&self.records);
        let more = (dictionary.len() + records.len()).saturating_sub(DICTIONARY);
        dictionary.drain(..more);
        dictionary.extend_from_slice(records);
    }
}

/// The end of records, which the next block may refer to.
pub(crate) fn tail(records: &[u8]) -> &[u8] {
    records
        .get(records.len().saturating_sub(DICTIONARY)..)
        .unwrap_or(records)
}

fn put_block(records: &[u8], dictionary: &[u8], out: &mut Vec<u8>) {
    let mut block = vec![0; lz4_flex::block::get_maximum_output_size(records.len())];
    let compressed = lz4_flex::block::compress_into_with_dict(records, &mut block, dictionary);
    let (form, content) = match compressed.ok().and_then(|length| block.get(..length)) {
        Some(shorter) if shorter.len() < records.len() => (LZ4, shorter),
        _ => (PLAIN, records),
    };
    out.push(form);
    varint::put(out, records.len() as u64);
    varint::put(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// A row as it is read.
pub(crate) struct ChangesRow<'r> {
    /// When its last change was made, in microseconds since 1970.
    pub(crate) unix_micros: i64,
    /// Number of changes, 1 at least.
    pub(crate) count: u64,
    csns: &'r [u8],
    /// Octets of the records.
    length: usize,
    blocks: &'r [u8],
}

/// A block as it is read.
struct Block<'r> {
    form: u8,
    /// Octets of its records.
    length: usize,
    content: &'r [u8],
}

impl<'r> Block<'r> {
    /// Takes the next block. `None`: damaged.
    fn take(blocks: &mut &'r [u8]) -> Option<Self> {
        let (&form, rest) = blocks.split_first()?;
        *blocks = rest;
        let length = usize::try_from(varint::take(blocks)?).ok()?;
        let octets = usize::try_from(varint::take(blocks)?).ok()?;
        let (content, rest) = blocks.split_at_checked(octets)?;
        *blocks = rest;
        let is_possible = match form {
            PLAIN => length == octets,
            LZ4 => length / MAX_EXPANSION <= octets,
            _ => false,
        };
        is_possible.then_some(Self { form, length, content })
    }
}

impl<'r> ChangesRow<'r> {
    /// Reads all but the records. `None`: damaged.
    pub(crate) fn read(row: &'r [u8]) -> Option<Self> {
        let (micros, mut rest) = row.split_first_chunk()?;
        let count = varint::take(&mut rest)?;
        let csns = usize::try_from(varint::take(&mut rest)?).ok()?.checked_mul(OCTETS)?;
        let (csns, blocks) = rest.split_at_checked(csns)?;
        let (mut rest, mut length) = (blocks, 0_usize);
        while !rest.is_empty() {
            length = length.checked_add(Block::take(&mut rest)?.length)?;
        }
        // Each record takes two bytes at least.
        (count > 0 && count <= length as u64).then_some(Self {
            unix_micros: i64::from_be_bytes(*micros),
            count,
            csns,
            length,
            blocks,
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
        let mut rest = self.blocks;
        let first = Block::take(&mut rest)?;
        if rest.is_empty() && first.form == PLAIN {
            return Some(Cow::Borrowed(first.content));
        }
        let mut records = vec![0; self.length];
        let (mut rest, mut at) = (self.blocks, 0);
        while !rest.is_empty() {
            let block = Block::take(&mut rest)?;
            let (before, behind) = records.split_at_mut_checked(at)?;
            let place = behind.get_mut(..block.length)?;
            if block.form == PLAIN {
                place.copy_from_slice(block.content);
            } else {
                let length = lz4_flex::block::decompress_into_with_dict(block.content, place, tail(before)).ok()?;
                (length == block.length).then_some(())?;
            }
            at += block.length;
        }
        Some(Cow::Owned(records))
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

    /// The row of these changes, in blocks of `size`.
    fn row_of(records: &[ChangeRecord], size: usize, vector: &ContextVector) -> Vec<u8> {
        let mut row = Vec::new();
        for block in records.chunks(size) {
            let (mut gathered, mut out) = (GatheredChanges::default(), Vec::new());
            for record in block {
                gathered.push(record, &mut Vec::new());
            }
            match ChangesRow::read(&row) {
                None => gathered.put_row(None, vector, &mut out),
                Some(row) => {
                    let records = &*row.records().unwrap();
                    gathered.put_row(Some((&row, tail(records))), vector, &mut out);
                }
            }
            row = out;
        }
        row
    }

    proptest! {
        #[test]
        fn changes_come_back_from_their_row(authors in prop::collection::vec(".{0,80}", 1..20), size in 1usize..20, servers in 0u16..4) {
            let records: Vec<_> = (1..).zip(&authors).map(|(number, author)| record(number, author)).collect();
            let csn = |server| Csn::parse(format!("20260101000000.000000Z#000000#{server:03x}#000000").as_bytes());
            let vector: ContextVector = (0..servers).filter_map(csn).collect();
            let bytes = row_of(&records, size, &vector);
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
        fn damage_is_noticed_or_harmless(at in 0usize..400, bit in 0u8..8, cut in 0usize..400, size in 1usize..9) {
            let records: Vec<_> = (1..9).map(|number| record(number, "cn=admin,dc=example,dc=com")).collect();
            let mut bytes = row_of(&records, size, &ContextVector::default());
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
        let alone = row_of(&[record(1, author)], 1, &ContextVector::default());
        let records: Vec<_> = (1..9).map(|number| record(number, author)).collect();
        for size in [1, 8] {
            let together = row_of(&records, size, &ContextVector::default());
            assert!(
                together.len() < alone.len() * 4,
                "{} and {}",
                alone.len(),
                together.len()
            );
        }
        let impossible = [&[0; 8], &[1, 0, LZ4, 0xf0, 0xff, 0xff, 0xff, 0xff][..], &[9], &[0; 9]].concat();
        assert!(
            ChangesRow::read(&impossible).is_none(),
            "no memory for what cannot come out"
        );
    }
}
