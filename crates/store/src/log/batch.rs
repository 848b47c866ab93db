//! Batches: the changes of one commit, as the log of a cluster has them.
//!
//! ```text
//! byte     version of the records
//! byte     0 records as they are, 1 LZ4 block
//! 16 bytes mark of the batch: no other batch has it
//! varint   number of records
//! varint   length of the records
//! records  one after the other (`change/codec.rs`)
//! ```
//!
//! Each batch is for one state of the database, its [`ClusterLogPlace`]. The chain of the place behind it is made of
//! the chain before it and all its bytes. So two databases with the same chain have taken the same batches.

use super::row::{MAX_EXPANSION, compress};
use crate::{
    ChangeRecord, StoreError,
    change::{
        Position,
        codec::{Shared, VERSION},
    },
    hash, varint,
};

const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// A state of a database that follows the log of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterLogPlace {
    /// The last change.
    pub position: Position,
    /// What all changes so far have made. Before the first batch: zeros for an empty database, else the sixteen random
    /// bytes of its file, which a copy of the file has too.
    pub chain: [u8; 16],
}

impl ClusterLogPlace {
    /// Whether it is the place of an empty database.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.position.sequence == 0 && self.chain == [0; 16]
    }

    /// The place behind a batch whose last change has this number.
    #[must_use]
    pub fn behind(self, batch: &[u8], sequence: u64) -> Self {
        let bytes = [&self.chain, batch].concat();
        let mut chain = [0; 16];
        for (octet, made) in chain.iter_mut().zip(hash::strong_hash(&bytes)) {
            *octet = made;
        }
        let position = Position {
            sequence,
            ..self.position
        };
        Self { position, chain }
    }
}

/// Gathers the changes of a transaction.
#[derive(Default)]
pub(crate) struct BatchWriter {
    records: Vec<u8>,
    shared: Shared,
    count: u64,
    /// Number of the last change.
    last: u64,
}

impl BatchWriter {
    pub(crate) fn push(&mut self, record: &ChangeRecord) {
        record.append(&mut self.records, &mut self.shared);
        self.count += 1;
        self.last = record.position.sequence;
    }

    /// The batch with a mark, and the number of its last change. `None`: it has no changes.
    pub(crate) fn encode(&self, mark: [u8; 16]) -> Option<(Vec<u8>, u64)> {
        if self.count == 0 {
            return None;
        }
        let mut out = vec![VERSION, PLAIN];
        out.extend_from_slice(&mark);
        varint::put(&mut out, self.count);
        varint::put(&mut out, self.records.len() as u64);
        if !compress(&self.records, &mut out) {
            out.extend_from_slice(&self.records);
        } else if let Some(form) = out.get_mut(1) {
            *form = LZ4;
        }
        Some((out, self.last))
    }
}

/// A batch as it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Its mark.
    pub mark: [u8; 16],
    /// Its changes: one at least, with numbers that follow each other.
    pub records: Vec<ChangeRecord>,
}

impl Batch {
    /// Reads a batch.
    ///
    /// # Errors
    /// [`StoreError::Format`]: a later version, or damage.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        match bytes.first() {
            Some(&version) if version > VERSION => Err(StoreError::Format("a batch of a later version".into())),
            _ => Self::read(bytes).ok_or_else(|| StoreError::Format("a malformed batch".into())),
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let ([version, form], rest) = bytes.split_first_chunk()?;
        let (mark, mut rest) = rest.split_first_chunk()?;
        let count = varint::take(&mut rest)?;
        let length = usize::try_from(varint::take(&mut rest)?).ok()?;
        let mut room = Vec::new();
        let content = match *form {
            PLAIN => rest,
            LZ4 if length / MAX_EXPANSION <= rest.len() => {
                room.resize(length, 0);
                let written = lz4_flex::block::decompress_into(rest, &mut room).ok()?;
                room.get(..written)?
            }
            _ => return None,
        };
        // Each record takes two bytes at least.
        if *version != VERSION || content.len() != length || count == 0 || count > length as u64 {
            return None;
        }
        let (mut at, mut shared, mut records) = (0, Shared::default(), Vec::new());
        while at < content.len() {
            records.push(ChangeRecord::take(content, &mut at, &mut shared)?);
        }
        let follow = |pair: &[ChangeRecord]| matches!(pair, [one, next] if one.position.next() == next.position);
        let is_number = |record: &ChangeRecord| (1..=Position::MOST).contains(&record.position.sequence);
        let is_whole = records.len() as u64 == count && records.windows(2).all(follow) && records.iter().all(is_number);
        is_whole.then_some(Self { mark: *mark, records })
    }

    /// The place of its first change.
    pub fn first(&self) -> Position {
        self.records.first().map(|record| record.position).unwrap_or_default()
    }

    /// The place of its last change.
    pub fn last(&self) -> Position {
        self.records.last().map(|record| record.position).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn batch_of(authors: &[String]) -> (Vec<ChangeRecord>, Vec<u8>) {
        let record = |(sequence, author): (u64, &String)| ChangeRecord {
            position: Position {
                generation: 7,
                sequence,
            },
            author: author.as_str().into(),
            ..ChangeRecord::default()
        };
        let records: Vec<_> = (5..).zip(authors).map(record).collect();
        let mut writer = BatchWriter::default();
        for record in &records {
            writer.push(record);
        }
        (records, writer.encode([9; 16]).unwrap().0)
    }

    proptest! {
        #[test]
        fn changes_come_back_from_their_batch(authors in prop::collection::vec(".{0,800}", 1..40)) {
            let (records, bytes) = batch_of(&authors);
            let batch = Batch::decode(&bytes).unwrap();
            prop_assert_eq!((batch.first().sequence, batch.last().sequence), (5, 4 + records.len() as u64));
            prop_assert_eq!(batch, Batch { mark: [9; 16], records });
        }

        #[test]
        fn damage_is_noticed_or_harmless(at in 0usize..4000, bit in 0u8..8, cut in 0usize..4000) {
            let authors: Vec<_> = (0..40).map(|number| format!("cn={number},ou=people,dc=example,dc=com {number:99}")).collect();
            let (_, mut bytes) = batch_of(&authors);
            let length = bytes.len();
            bytes[at % length] ^= 1 << bit;
            // No panic, and no memory for what cannot come out.
            let _ = (Batch::decode(&bytes), Batch::decode(&bytes[..cut % length]));
        }
    }

    #[test]
    fn changes_have_numbers_from_one_on_that_others_can_follow() {
        for (sequence, is_number) in [
            (0, false),
            (1, true),
            (Position::MOST, true),
            (Position::MOST + 1, false),
            (u64::MAX, false),
        ] {
            let mut writer = BatchWriter::default();
            writer.push(&ChangeRecord {
                position: Position {
                    generation: 7,
                    sequence,
                },
                ..ChangeRecord::default()
            });
            let bytes = writer.encode([9; 16]).unwrap().0;
            assert_eq!(Batch::decode(&bytes).is_ok(), is_number, "{sequence}");
        }
    }

    #[test]
    fn a_batch_of_a_later_version_is_known_as_one() {
        let (_, mut bytes) = batch_of(&["cn=x".to_owned()]);
        bytes[0] = VERSION + 1;
        assert!(Batch::decode(&bytes).unwrap_err().to_string().contains("later version"));
    }

    #[test]
    fn the_chain_tells_other_batches_and_another_order() {
        let (one, other) = (batch_of(&["a".to_owned()]).1, batch_of(&["b".to_owned()]).1);
        let start = ClusterLogPlace::default();
        let place = start.behind(&one, 1).behind(&other, 2);
        assert_eq!(place.position.sequence, 2);
        assert_eq!(place, start.behind(&one, 1).behind(&other, 2));
        assert_ne!(place, start.behind(&other, 1).behind(&one, 2));
        assert_ne!(place, start.behind(&one, 1).behind(&one, 2));
    }
}
