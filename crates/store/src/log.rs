//! The log of changes as it is read: rows, positions, tombstones, the context vector, and how far followers are.
//!
//! Invariant: from the number in `log-first` on, `changes` has every change up to the last.

mod trim;

pub use trim::{LogLimits, TrimStep};

use std::ops::Bound;

use heed::RoRange;

use crate::{
    ChangeRecord, EntryId, Location, StoreError, View,
    csn::{ContextVector, Csn, OCTETS},
    tables::{LogTables, MetaRow, Tables},
    varint,
};

/// What the log of a database holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogState {
    /// Number of the change from which on every change is there; `None`: the log is not kept.
    pub first: Option<u64>,
    /// Number of the last change, whether it is there or not; 0 before the first.
    pub last: u64,
    /// Bytes of all rows.
    pub bytes: u64,
    /// Random number of the log; 0: there is none yet.
    pub generation: u64,
}

/// Key of a row of `positions`: 2 bytes of the server ID, then the packed CSN.
pub(crate) fn position_key(csn: Csn) -> [u8; OCTETS] {
    let mut key = [0; OCTETS];
    let parts = csn.server_id().to_be_bytes().into_iter().chain(csn.packed());
    key.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    key
}

/// Key of the row of `meta` that says how far a follower is.
pub(crate) fn follower_key(name: &str) -> Vec<u8> {
    [FOLLOWER, name.as_bytes()].concat()
}

/// What the keys of followers begin with.
pub(crate) const FOLLOWER: &[u8] = b"follower ";

fn damaged(what: &str) -> StoreError {
    StoreError::damaged(what)
}

/// Rows of the log, in order.
pub struct ChangeRows<'v> {
    rows: Option<RoRange<'v, heed::types::Bytes, heed::types::Bytes>>,
    tables: &'v Tables,
}

impl Iterator for ChangeRows<'_> {
    type Item = Result<ChangeRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.as_mut()?.next()?;
        Some(row.map_err(StoreError::from).and_then(|(key, row)| {
            let sequence = varint::read(key).ok_or_else(|| damaged("a key of `changes`"))?;
            let content = self.tables.unseal(sequence, row);
            let record = ChangeRecord::decode(content.ok_or_else(|| damaged(&format!("change {sequence}")))?)?;
            if record.position.sequence != sequence {
                return Err(damaged(&format!("change {sequence}")));
            }
            Ok(record)
        }))
    }
}

impl<'v> View<'v> {
    /// Rows of the log from number `first` on, in order. Those before [`LogState::first`] may have gaps.
    ///
    /// # Errors
    /// The storage failed; later, a row is damaged.
    pub fn changes(&self, first: u64) -> Result<ChangeRows<'v>, StoreError> {
        let tables = self.tables();
        let rows = match &tables.log {
            None => None,
            Some(log) => {
                let start = varint::Key::new(first);
                let range = (Bound::Included(start.bytes()), Bound::Unbounded);
                Some(log.changes.range(self.txn, &range)?)
            }
        };
        Ok(ChangeRows { rows, tables })
    }

    /// What the log holds.
    pub fn log_state(&self) -> Result<LogState, StoreError> {
        let number = |row| self.tables().number(self.txn, row);
        let first = number(MetaRow::LogFirst)?;
        Ok(LogState {
            first: (first != 0).then_some(first),
            last: number(MetaRow::Sequence)?,
            bytes: number(MetaRow::LogBytes)?,
            generation: number(MetaRow::Generation)?,
        })
    }

    /// The greatest CSN of each server; `None`: no vector is kept.
    pub fn context_vector(&self) -> Result<Option<ContextVector>, StoreError> {
        let row = self.tables().meta(self.txn, MetaRow::Context)?;
        row.map(|bytes| ContextVector::decode(bytes).ok_or_else(|| damaged("the context vector")))
            .transpose()
    }

    /// The context vector with the entry that shows it as `contextCSN`: that of the first suffix, unless it holds the
    /// attribute itself.
    pub fn shown_context(&self) -> Result<Option<(EntryId, ContextVector)>, StoreError> {
        let Some(vector) = self.context_vector()? else {
            return Ok(None);
        };
        let (Some(suffix), Ok(name)) = (
            self.ground.options.suffixes.first(),
            self.schema().attribute_description(b"contextCSN"),
        ) else {
            return Ok(None);
        };
        let Location::Entry(id) = self.locate(suffix)? else {
            return Ok(None);
        };
        let holds_it = self.record(id)?.is_some_and(|record| record.values(&name).is_some());
        Ok((!holds_it).then_some((id, vector)))
    }

    /// The number of the change after which the context vector had a CSN, if it has had that very one.
    pub fn position_of(&self, csn: Csn) -> Result<Option<u64>, StoreError> {
        let Some(LogTables { positions, .. }) = &self.tables().log else {
            return Ok(None);
        };
        let row = positions.get(self.txn, &position_key(csn))?;
        row.map(|value| varint::read(value).ok_or_else(|| damaged("a row of `positions`")))
            .transpose()
    }

    /// The CSN with which the entry of a UUID was deleted, and the number of that change.
    pub fn tombstone(&self, entry_uuid: &[u8; 16]) -> Result<Option<(Csn, u64)>, StoreError> {
        let Some(LogTables { tombstones, .. }) = &self.tables().log else {
            return Ok(None);
        };
        let row = tombstones.get(self.txn, entry_uuid)?;
        row.map(|value| read_tombstone(value).ok_or_else(|| damaged("a row of `tombstones`")))
            .transpose()
    }

    /// How far a follower is: the number of the last change that it has taken, and its own notes.
    pub fn follower(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let row = self.tables().meta.get(self.txn, &follower_key(name))?;
        row.map(|mut bytes| {
            let sequence = varint::take(&mut bytes).ok_or_else(|| damaged("the row of a follower"))?;
            Ok((sequence, bytes.to_vec()))
        })
        .transpose()
    }

    /// Whether the database was put back from a copy, and is yet to hear of its peers.
    pub fn is_restored(&self) -> Result<bool, StoreError> {
        Ok(self.tables().number(self.txn, MetaRow::Restored)? != 0)
    }
}

fn read_tombstone(value: &[u8]) -> Option<(Csn, u64)> {
    let (octets, sequence) = value.split_first_chunk()?;
    Some((Csn::from_octets(octets), varint::read(sequence)?))
}
