//! Trimming the log: rows go in steps between other writes.

use std::ops::Bound;

use super::{FOLLOWER, damaged};
use crate::{
    ChangeRecord, Database, StoreError,
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
    /// Rows and tombstones of changes before this time go, in microseconds since 1970.
    pub changes_since: i64,
    /// Tombstones of deletes before this time go. `None`: they are not looked at.
    pub tombstones_since: Option<i64>,
    /// Rows from this number on stay, whatever the other limits say: a follower has not taken them.
    pub keep_from: u64,
}

/// What one step of trimming did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrimStep {
    /// Rows of changes that went.
    pub changes: usize,
    /// Number of the first change whose row is there.
    pub first_kept: Option<u64>,
    /// Whether nothing more is to be done.
    pub is_complete: bool,
    /// Whether all tombstones have been looked at since the first of them was.
    pub has_seen_tombstones: bool,
}

impl Database {
    /// Deletes up to `rows` rows of each table of the log that are past the limits, oldest first.
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
        let (changes, first_kept) = trim_changes(&mut write, &log, limits, rows)?;
        let positions = trim_positions(&mut write, &log, rows)?;
        let (tombstones, has_seen_tombstones) = match limits.tombstones_since {
            Some(since) => trim_tombstones(&mut write, &log, since, rows)?,
            None => (0, true),
        };
        if changes + positions + tombstones > 0 {
            write.commit()?;
        }
        Ok(TrimStep {
            changes,
            first_kept,
            is_complete: changes.max(positions) < rows && has_seen_tombstones,
            has_seen_tombstones,
        })
    }

    /// Forgets how far followers are that no longer follow.
    ///
    /// # Errors
    /// The storage failed.
    pub fn keep_followers(&self, names: &[&str]) -> Result<(), StoreError> {
        let tables = &self.ground.tables;
        let gone: Vec<Vec<u8>> = {
            let txn = self.env.read_txn()?;
            let mut gone = Vec::new();
            for row in tables.meta.prefix_iter(&txn, FOLLOWER)? {
                let (key, _) = row?;
                let is_kept = names
                    .iter()
                    .any(|name| key.strip_prefix(FOLLOWER) == Some(name.as_bytes()));
                if !is_kept {
                    gone.push(key.to_vec());
                }
            }
            gone
        };
        if gone.is_empty() {
            return Ok(());
        }
        let mut write = self.write()?;
        for key in gone {
            tables.meta.delete(&mut write.txn, &key)?;
        }
        write.commit()
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
    let (mut gone, mut first_kept) = (Vec::new(), None);
    for row in log.changes.iter(&write.txn)? {
        let (key, row) = row?;
        let sequence = varint::read(key).ok_or_else(|| damaged("a key of `changes`"))?;
        let made = ChangeRecord::peek_unix_micros(row).ok_or_else(|| damaged(&format!("change {sequence}")))?;
        // What the log says nothing of any more is kept for followers alone.
        let is_past = sequence < first || first == 0 || bytes > limits.bytes || made < limits.changes_since;
        if sequence >= limits.keep_from || !is_past || gone.len() == rows {
            first_kept = Some(sequence);
            break;
        }
        bytes = bytes.saturating_sub(row.len() as u64);
        gone.push(sequence);
    }
    if gone.is_empty() {
        return Ok((0, first_kept));
    }
    for &sequence in &gone {
        log.changes.delete(&mut write.txn, varint::Key::new(sequence).bytes())?;
    }
    tables.put_number(&mut write.txn, MetaRow::LogBytes, bytes)?;
    if first != 0 {
        let next = tables.number(&write.txn, MetaRow::Sequence)? + 1;
        let kept = first_kept.unwrap_or(next).max(first);
        tables.put_number(&mut write.txn, MetaRow::LogFirst, kept)?;
    }
    Ok((gone.len(), first_kept))
}

/// Positions that the log can no longer go on from.
fn trim_positions(write: &mut WriteTransaction<'_>, log: &LogTables, rows: usize) -> Result<usize, StoreError> {
    let first = write.tables().number(&write.txn, MetaRow::LogFirst)?;
    let mut gone = Vec::new();
    // The rows of a server rise with its CSNs: behind the first that stays, those of the next server are looked at.
    let mut server = Some(0u16);
    while let Some(id) = server {
        server = None;
        let from = id.to_be_bytes();
        let behind = (Bound::Included(from.as_slice()), Bound::Unbounded);
        for row in log.positions.range(&write.txn, &behind)? {
            let (key, value) = row?;
            let sequence = varint::read(value).ok_or_else(|| damaged("a row of `positions`"))?;
            let is_past = first == 0 || sequence + 1 < first;
            if is_past && gone.len() < rows {
                gone.push(key.to_vec());
                continue;
            }
            if gone.len() < rows {
                let [high, low, ..] = *key else {
                    return Err(damaged("a key of `positions`"));
                };
                server = u16::from_be_bytes([high, low]).checked_add(1);
            }
            break;
        }
    }
    for key in &gone {
        log.positions.delete(&mut write.txn, key)?;
    }
    Ok(gone.len())
}

/// Looks at some tombstones, from where the last step ended. Those that are not old stay. Gives the number of those
/// that went, and whether all have been looked at.
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
