//! The last rows of the log, which wait in one row of `meta`.
//!
//! A commit writes the page of `meta` anyway, but a row of its own in `changes` makes it write a page of each level of
//! that table. So rows wait in `meta` until they are [`FULL`], and move to `changes` together.
//!
//! ```text
//! varint   number of the last change of the row
//! varint   length of the row
//! bytes    the row as in `changes`
//! ...      the next row
//! ```

use heed::{RoTxn, RwTxn};

use super::damaged;
use crate::{
    StoreError,
    tables::{LogTables, MetaRow, Tables},
    varint,
};

/// Octets of rows that do not wait any longer: one page of LMDB.
const FULL: usize = 4000;

/// Rows that wait, in order: the number of the last change, and the row.
pub(crate) struct RecentRows<'t>(&'t [u8]);

impl<'t> RecentRows<'t> {
    /// Those of a database.
    pub(crate) fn of(tables: &Tables, txn: &'t RoTxn<'_>) -> Result<Self, StoreError> {
        Ok(Self(tables.meta(txn, MetaRow::RecentRows)?.unwrap_or_default()))
    }
}

impl<'t> Iterator for RecentRows<'t> {
    type Item = Result<(u64, &'t [u8]), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut rest = std::mem::take(&mut self.0);
        let found = take_row(&mut rest);
        if found.is_some() {
            self.0 = rest;
        }
        Some(found.ok_or_else(|| damaged("the last rows of the log")))
    }
}

fn take_row<'t>(rest: &mut &'t [u8]) -> Option<(u64, &'t [u8])> {
    let last = varint::take(rest)?;
    let length = usize::try_from(varint::take(rest)?).ok()?;
    let (row, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some((last, row))
}

/// Appends a row to the log.
pub(crate) fn append(
    tables: &Tables,
    log: &LogTables,
    txn: &mut RwTxn<'_>,
    last: u64,
    row: &[u8],
) -> Result<(), StoreError> {
    let waiting = tables.meta(txn, MetaRow::RecentRows)?.unwrap_or_default();
    if waiting.len() + row.len() < FULL {
        let mut all = Vec::with_capacity(FULL);
        all.extend_from_slice(waiting);
        varint::put(&mut all, last);
        varint::put(&mut all, row.len() as u64);
        all.extend_from_slice(row);
        return tables.put_meta(txn, MetaRow::RecentRows, &all);
    }
    settle(tables, log, txn)?;
    put(log, txn, last, row)
}

/// Moves the rows that wait to `changes`.
pub(crate) fn settle(tables: &Tables, log: &LogTables, txn: &mut RwTxn<'_>) -> Result<(), StoreError> {
    let Some(waiting) = tables.meta(txn, MetaRow::RecentRows)?.map(<[u8]>::to_vec) else {
        return Ok(());
    };
    for row in RecentRows(&waiting) {
        let (last, row) = row?;
        put(log, txn, last, row)?;
    }
    tables.delete_meta(txn, MetaRow::RecentRows)
}

fn put(log: &LogTables, txn: &mut RwTxn<'_>, last: u64, row: &[u8]) -> Result<(), StoreError> {
    let key = varint::Key::new(last);
    Ok(log
        .changes
        .put_with_flags(txn, heed::PutFlags::APPEND, key.bytes(), row)?)
}
