//! Trimming the log: rows are deleted in steps between other writes.

use std::ops::Bound;

use super::{
    LogRows, NumberedRow, damaged,
    recent::{self, Waiting},
};
use crate::{
    Database, StoreError,
    csn::Csn,
    tables::{LogTables, MetaRow},
    varint,
    write::WriteTransaction,
};

/// How much of the log is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLimits {
    /// Bytes of rows.
    pub bytes: u64,
    /// Rows and tombstones of changes before this time are deleted, in microseconds since 1970.
    pub changes_since: i64,
    /// Tombstones of deletes before this time are deleted. `None`: tombstones are left alone.
    pub tombstones_since: Option<i64>,
    /// Rows from this number on are kept despite the other limits: a follower has not taken them.
    pub keep_from: u64,
}

/// What one step of trimming did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrimStep {
    /// Deleted rows; each has one change or several.
    pub rows: usize,
    /// Number of the first change whose row is there.
    pub first_kept: Option<u64>,
    /// Bytes of the remaining rows.
    pub bytes: u64,
    /// Whether nothing is left to do.
    pub is_complete: bool,
    /// Whether all tombstones have been checked in this round.
    pub has_seen_tombstones: bool,
}

impl Database {
    /// Deletes up to `rows` rows of each table of the log that are past the limits, oldest first. A row is deleted when
    /// all of its changes may go.
    ///
    /// # Errors
    /// The storage failed; a row is damaged.
    pub fn trim_log(&self, limits: &LogLimits, rows: usize) -> Result<TrimStep, StoreError> {
        let mut write = self.write()?;
        let Some(log) = write.tables().log else {
            return Ok(TrimStep {
                is_complete: true,
                has_seen_tombstones: true,
                ..TrimStep::default()
            });
        };
        let (gone, first_kept) = trim_changes(&mut write, &log, limits, rows)?;
        let (tombstones, has_seen_tombstones) = match limits.tombstones_since {
            Some(since) => trim_tombstones(&mut write, &log, since, rows)?,
            None => (0, true),
        };
        let bytes = write.tables().number(&write.txn, MetaRow::LogBytes)?;
        if gone + tombstones > 0 {
            write.commit()?;
        }
        Ok(TrimStep {
            rows: gone,
            first_kept,
            bytes,
            is_complete: gone < rows && has_seen_tombstones,
            has_seen_tombstones,
        })
    }
}

fn trim_changes(
    write: &mut WriteTransaction<'_>,
    log: &LogTables,
    limits: &LogLimits,
    rows: usize,
) -> Result<(usize, Option<u64>), StoreError> {
    let tables = *write.tables();
    let (first, mut bytes) = (
        tables.number(&write.txn, MetaRow::LogFirst)?,
        tables.number(&write.txn, MetaRow::LogBytes)?,
    );
    let (mut gone, mut first_kept, mut base) = (Vec::new(), None, None);
    for row in LogRows::from(&tables, &write.txn, log, 0)? {
        let NumberedRow {
            row,
            first: from,
            last: to,
            octets,
        } = row?;
        // Changes outside the log's range are kept for followers alone.
        let is_past = to < first || first == 0 || bytes > limits.bytes || row.unix_micros < limits.changes_since;
        if to >= limits.keep_from || !is_past || gone.len() == rows {
            first_kept = Some(from);
            break;
        }
        bytes = bytes.saturating_sub(octets);
        gone.push(to);
        if to >= first {
            base = Some(row.vector().filter(|_| row.covers_all));
        }
    }
    let Some(&last_gone) = gone.last() else {
        return Ok((0, first_kept));
    };
    let waiting = Waiting::of(&tables, &write.txn)?
        .map(|waiting| waiting.row())
        .transpose()?;
    if waiting.is_some_and(|(number, _)| number <= last_gone) {
        recent::settle(&tables, log, &mut write.txn)?;
    }
    for &last in &gone {
        log.changes.delete(&mut write.txn, varint::Key::new(last).bytes())?;
    }
    tables.put_number(&mut write.txn, MetaRow::LogBytes, bytes)?;
    if first != 0 {
        let next = tables.number(&write.txn, MetaRow::Sequence)? + 1;
        let kept = first_kept.unwrap_or(next).max(first);
        tables.put_number(&mut write.txn, MetaRow::LogFirst, kept)?;
        match base {
            Some(Some(base)) => tables.put_meta(&mut write.txn, MetaRow::LogBase, &base.encode())?,
            // Who has these CSNs may lack some of the changes that are gone.
            Some(None) => tables.delete_meta(&mut write.txn, MetaRow::LogBase)?,
            None => {}
        }
    }
    Ok((gone.len(), first_kept))
}

/// Checks some tombstones, starting where the last step ended. Recent ones stay. Returns the number of deleted
/// tombstones, and whether all have been checked.
fn trim_tombstones(
    write: &mut WriteTransaction<'_>,
    log: &LogTables,
    since: i64,
    rows: usize,
) -> Result<(usize, bool), StoreError> {
    let place = &write.database().common.tombstones_seen;
    let mut seen = place.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (mut gone, mut count) = (Vec::new(), 0);
    let start = std::mem::take(&mut *seen);
    // LMDB takes no empty key.
    let begin = if start.is_empty() {
        Bound::Unbounded
    } else {
        Bound::Included(start.as_slice())
    };
    for row in log.tombstones.range(&write.txn, &(begin, Bound::Unbounded))? {
        let (key, value) = row?;
        if count == rows {
            key.clone_into(&mut seen);
            break;
        }
        count += 1;
        let (octets, _) = value
            .split_first_chunk()
            .ok_or_else(|| damaged("a row of `tombstones`"))?;
        if Csn::from_octets(octets).unix_micros() < since {
            gone.push(key.to_vec());
        }
    }
    let has_seen_all = seen.is_empty();
    drop(seen);
    for key in &gone {
        log.tombstones.delete(&mut write.txn, key)?;
    }
    Ok((gone.len(), has_seen_all))
}
