//! Reading the log of changes: rows, tombstones, the context vector, and the positions of followers.
//!
//! Invariants: `changes` has every change from the number in `log-first` to the last. The vectors of its rows never go
//! down.

mod batch;
mod followers;
mod positions;
pub(crate) mod recent;
pub(crate) mod row;
mod trim;
pub(crate) mod uncovered;

pub(crate) use batch::BatchWriter;
pub use batch::{Batch, ClusterLogPlace};
pub use trim::{LogLimits, TrimStep};

use std::{borrow::Cow, collections::BTreeSet, ops::Bound};

use heed::{RoRange, RoTxn, types::Bytes};
use recent::Waiting;
use row::{NumberedRow, read_row};

use crate::{
    ChangeRecord, EntryId, Location, StoreError, View,
    change::{Position, codec::Shared},
    csn::{ContextVector, Csn},
    tables::{LogTables, MetaRow, Tables},
    varint,
};

/// What the log of a database holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogState {
    /// The log has every change from this number on; `None`: the log is not kept.
    pub first: Option<u64>,
    /// Number of the last change, even if its row is gone; 0 before the first.
    pub last: u64,
    /// Bytes of all rows.
    pub bytes: u64,
    /// Random number of the log; 0: there is none yet.
    pub generation: u64,
}

/// Key of the row of `meta` with the position of a follower.
pub(crate) fn follower_key(name: &str) -> Vec<u8> {
    [FOLLOWER, name.as_bytes()].concat()
}

/// What the keys of followers begin with.
pub(crate) const FOLLOWER: &[u8] = b"follower ";

fn damaged(what: &str) -> StoreError {
    StoreError::damaged(what)
}

/// The rows of the log in order.
struct LogRows<'t> {
    tables: &'t Tables,
    settled: Option<RoRange<'t, Bytes, Bytes>>,
    waiting: Option<Waiting<'t>>,
    /// Rows whose changes are all before it are skipped.
    first: u64,
}

impl<'t> LogRows<'t> {
    /// Rows from the one that has change `first` or the next one.
    fn from(tables: &'t Tables, txn: &'t RoTxn<'_>, log: &LogTables, first: u64) -> Result<Self, StoreError> {
        let start = varint::Key::new(first);
        let rows = log
            .changes
            .range(txn, &(Bound::Included(start.bytes()), Bound::Unbounded))?;
        Ok(Self {
            tables,
            settled: Some(rows),
            waiting: Waiting::of(tables, txn)?,
            first,
        })
    }
}

impl<'t> Iterator for LogRows<'t> {
    type Item = Result<NumberedRow<'t>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(rows) = &mut self.settled {
            if let Some(row) = rows.next() {
                return Some(
                    row.map_err(StoreError::from)
                        .and_then(|(key, row)| settled_row(self.tables, key, row)),
                );
            }
            self.settled = None;
        }
        match self.waiting.take()?.row() {
            Ok((last, _)) if last < self.first => None,
            row => Some(row.and_then(|(last, row)| read_row(self.tables, last, row))),
        }
    }
}

/// A row of `changes`.
fn settled_row<'r>(tables: &Tables, key: &[u8], row: &'r [u8]) -> Result<NumberedRow<'r>, StoreError> {
    let last = varint::read(key).ok_or_else(|| damaged("a key of `changes`"))?;
    read_row(tables, last, Cow::Borrowed(row))
}

/// Changes of the log, in order.
pub struct ChangeRows<'v> {
    rows: Option<LogRows<'v>>,
    /// Changes before it are skipped.
    first: u64,
    /// The records of the current row.
    records: Vec<u8>,
    /// What they share.
    shared: Shared,
    /// How much of it has been returned.
    taken: usize,
    /// The number of the next change in it.
    next: u64,
}

impl ChangeRows<'_> {
    /// The next change of the current row.
    fn next_of_row(&mut self) -> Option<Result<ChangeRecord, StoreError>> {
        loop {
            if self.taken >= self.records.len() {
                return None;
            }
            let record = ChangeRecord::take(&self.records, &mut self.taken, &mut self.shared);
            let sequence = self.next;
            self.next += 1;
            let record = record.filter(|record| record.position.sequence == sequence);
            if record.is_some() && sequence < self.first {
                continue;
            }
            return Some(record.ok_or_else(|| damaged(&format!("change {sequence}"))));
        }
    }

    /// Reads the next row. `None`: there is none.
    fn next_row(&mut self) -> Option<Result<(), StoreError>> {
        let row = self.rows.as_mut()?.next()?;
        Some(row.and_then(|NumberedRow { row, first, .. }| {
            let records = row.records();
            let records = records.ok_or_else(|| damaged(&format!("the row of change {first}")))?;
            self.records.clear();
            self.records.extend_from_slice(&records);
            (self.taken, self.next) = (0, first);
            self.shared = Shared::default();
            Ok(())
        }))
    }
}

impl Iterator for ChangeRows<'_> {
    type Item = Result<ChangeRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.next_of_row().or_else(|| self.next_row()?.err().map(Err));
            if matches!(found, Some(Err(_))) {
                // Rows behind a damaged one are not read.
                (self.rows, self.taken) = (None, self.records.len());
            }
            match found {
                None if self.taken < self.records.len() => {}
                found => return found,
            }
        }
    }
}

impl<'v> View<'v> {
    /// Changes of the log from number `first` on, in order. Those before [`LogState::first`] may have gaps.
    ///
    /// # Errors
    /// The storage failed; later, a row is damaged.
    pub fn changes(&self, first: u64) -> Result<ChangeRows<'v>, StoreError> {
        let tables = self.tables();
        let rows = match &tables.log {
            None => None,
            Some(log) => Some(LogRows::from(tables, self.txn, log, first)?),
        };
        Ok(ChangeRows {
            rows,
            first,
            records: Vec::new(),
            shared: Shared::default(),
            taken: 0,
            next: 0,
        })
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

    /// The state of a database that follows the log of a cluster.
    ///
    /// # Errors
    /// The storage failed, or is damaged.
    pub fn log_place(&self) -> Result<ClusterLogPlace, StoreError> {
        let number = |row| self.tables().number(self.txn, row);
        let row = match self.tables().meta(self.txn, MetaRow::Chain)? {
            None if number(MetaRow::NextEntry)? > 1 => self.tables().meta(self.txn, MetaRow::Identifier)?,
            chain => chain,
        };
        let chain = row.map_or(Ok([0; 16]), |bytes| {
            bytes.try_into().map_err(|_| damaged("the chain in `meta`"))
        })?;
        Ok(ClusterLogPlace {
            position: Position {
                generation: number(MetaRow::Generation)?,
                sequence: number(MetaRow::Sequence)?,
            },
            chain,
        })
    }

    /// Whether the database has entries that are of the log of a cluster.
    ///
    /// # Errors
    /// The storage failed.
    pub fn is_of_a_cluster(&self) -> Result<bool, StoreError> {
        Ok(self.tables().meta(self.txn, MetaRow::Chain)?.is_some())
    }

    /// The greatest CSN of each server; `None`: no vector is kept.
    pub fn context_vector(&self) -> Result<Option<ContextVector>, StoreError> {
        let row = self.tables().meta(self.txn, MetaRow::Context)?;
        row.map(|bytes| ContextVector::decode(bytes).ok_or_else(|| damaged("the context vector")))
            .transpose()
    }

    /// The context vector, and the entry that shows it as `contextCSN`: the entry of the first suffix, unless it holds
    /// the attribute itself.
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

    /// The greatest CSN of each server after the last change, if known: the context vector, or the vector of the last
    /// row.
    pub(crate) fn log_vector(&self) -> Result<Option<ContextVector>, StoreError> {
        let context = self.context_vector()?;
        let Some(log) = self.tables().log.filter(|_| context.is_none()) else {
            return Ok(context);
        };
        let tables = self.tables();
        let row = match Waiting::of(tables, self.txn)? {
            Some(waiting) => {
                let (last, row) = waiting.row()?;
                Some(read_row(tables, last, row)?)
            }
            None => match log.changes.last(self.txn)? {
                Some((key, row)) => Some(settled_row(tables, key, row)?),
                None => None,
            },
        };
        Ok(row.and_then(|found| found.row.vector()))
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

    /// The next UUIDs of deleted entries that are remembered, in their order, with the CSN of the delete: those behind
    /// `after` (`None`: from the first one on), `most` of them.
    ///
    /// # Errors
    /// The storage failed.
    pub fn tombstones(&self, after: Option<&[u8; 16]>, most: usize) -> Result<Vec<([u8; 16], Csn)>, StoreError> {
        let Some(LogTables { tombstones, .. }) = &self.tables().log else {
            return Ok(Vec::new());
        };
        let begin = after.map_or(Bound::Unbounded, |uuid| Bound::Excluded(uuid.as_slice()));
        let mut found = Vec::new();
        for row in tombstones.range(self.txn, &(begin, Bound::Unbounded))?.take(most) {
            let (key, value) = row?;
            let uuid = key.try_into().ok();
            let row = uuid.zip(read_tombstone(value)).map(|(uuid, (csn, _))| (uuid, csn));
            found.push(row.ok_or_else(|| damaged("a row of `tombstones`"))?);
        }
        Ok(found)
    }

    /// The position of a follower: the number of the last change that it has taken, and its own notes.
    pub fn follower(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let row = self.tables().meta.get(self.txn, &follower_key(name))?;
        row.map(|mut bytes| {
            let sequence = varint::take(&mut bytes).ok_or_else(|| damaged("the row of a follower"))?;
            Ok((sequence, bytes.to_vec()))
        })
        .transpose()
    }

    /// Whether the database was restored from a copy and has not yet heard from its peers.
    pub fn is_restored(&self) -> Result<bool, StoreError> {
        Ok(self.heard_since_restored()?.is_some())
    }

    /// From whom a restored database has heard: numbers of the lines `syncrepl`. `None`: it was not restored, or has
    /// heard from all.
    ///
    /// # Errors
    /// The storage failed.
    pub fn heard_since_restored(&self) -> Result<Option<BTreeSet<u16>>, StoreError> {
        let row = self.tables().meta(self.txn, MetaRow::Restored)?;
        Ok(row.map(|row| row.as_chunks().0.iter().map(|line| u16::from_be_bytes(*line)).collect()))
    }
}

/// The row of a deleted entry: the CSN of the delete, and the number of that change.
pub(crate) fn tombstone(csn: Csn, sequence: u64) -> Vec<u8> {
    let mut row = csn.octets().to_vec();
    varint::put(&mut row, sequence);
    row
}

fn read_tombstone(value: &[u8]) -> Option<(Csn, u64)> {
    let (octets, sequence) = value.split_first_chunk()?;
    Some((Csn::from_octets(octets), varint::read(sequence)?))
}
