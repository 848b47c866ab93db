//! The last row of the log, which waits in two rows of `meta` for more changes.
//!
//! A commit writes the page of `meta` anyway, but a row in `changes` makes it write a page of each level of that table.
//! So the last row waits in `meta`, and grows with each commit, until it is about as long as a page.
//!
//! ```text
//! varint   number of the last change of the row
//! bytes    the row as in `changes`
//! ```

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
};

use heed::{RoTxn, RwTxn};

use super::{
    damaged,
    row::{OpenRow, read_row},
};
use crate::{
    ChangeRecord, StoreError,
    tables::{LogTables, MetaRow, Tables},
    varint,
};

/// The rows of `meta` that hold one after the other a part of what waits.
const PARTS: [MetaRow; 2] = [MetaRow::RecentRow, MetaRow::RecentRowBehind];

/// The most octets of a part. Two of them and the rest of `meta` fit in one page of LMDB; a value that is longer than
/// half a page has a page of its own, which each commit would write.
const PART: usize = 1650;

/// The most octets of a row that waits.
const WAITING: usize = PARTS.len() * PART - varint::MAX_LENGTH;

/// The most octets of a row of `changes` that takes one page.
const PAGE: usize = 4080;

/// The last row of the log, and its octets as they wait.
#[derive(Default)]
pub(crate) struct KnownRow {
    row: OpenRow,
    waiting: Vec<u8>,
}

/// The octets of the row that waits.
pub(crate) struct Waiting<'t>([&'t [u8]; 2]);

impl<'t> Waiting<'t> {
    /// Those of a database. `None`: no row waits.
    pub(crate) fn of(tables: &Tables, txn: &'t RoTxn<'_>) -> Result<Option<Self>, StoreError> {
        let [part, behind] = PARTS.map(|part| tables.meta(txn, part));
        let parts = [part?.unwrap_or_default(), behind?.unwrap_or_default()];
        Ok(parts.iter().any(|part| !part.is_empty()).then_some(Self(parts)))
    }

    /// The number of the last change, and the row.
    pub(crate) fn row(&self) -> Result<(u64, Cow<'t, [u8]>), StoreError> {
        let [mut part, behind] = self.0;
        let last = varint::take(&mut part).ok_or_else(|| damaged("the last row of the log"))?;
        let row = if behind.is_empty() {
            Cow::Borrowed(part)
        } else {
            Cow::Owned([part, behind].concat())
        };
        Ok((last, row))
    }

    /// Octets of the row.
    fn length(&self) -> Result<usize, StoreError> {
        let [mut part, behind] = self.0;
        varint::take(&mut part).ok_or_else(|| damaged("the last row of the log"))?;
        Ok(part.len() + behind.len())
    }

    fn is(&self, octets: &[u8]) -> bool {
        let [part, behind] = self.0;
        octets.strip_prefix(part) == Some(behind)
    }
}

/// Shared by all that write to the database, one at a time.
fn known(last_row: &Mutex<KnownRow>) -> MutexGuard<'_, KnownRow> {
    // What a panic leaves behind is not what waits in the file, and is read again.
    last_row.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The row that waits, if `next` may follow in it; otherwise a new one, and the one that waits moves to `changes`.
pub(crate) fn open(
    last_row: &Mutex<KnownRow>,
    tables: &Tables,
    log: &LogTables,
    txn: &mut RwTxn<'_>,
    next: &ChangeRecord,
    covers_all: bool,
) -> Result<OpenRow, StoreError> {
    let KnownRow { row, waiting } = std::mem::take(&mut *known(last_row));
    let Some(found) = Waiting::of(tables, txn)? else {
        return Ok(OpenRow::default());
    };
    let row = if found.is(&waiting) {
        Some(row)
    } else {
        let read = found.row().and_then(|(last, row)| read_row(tables, last, row));
        read.ok().and_then(|found| OpenRow::read(found.last, &found.row))
    };
    match row {
        Some(row) if row.may_hold(next, covers_all) => Ok(row),
        _ => {
            settle(tables, log, txn)?;
            Ok(OpenRow::default())
        }
    }
}

/// Stores a row, whose octets in the table are `octets`: it waits, or is put in `changes` if it is full. Returns by how
/// many octets it has become longer.
pub(crate) fn put(
    last_row: &Mutex<KnownRow>,
    tables: &Tables,
    log: &LogTables,
    txn: &mut RwTxn<'_>,
    row: OpenRow,
    octets: &[u8],
) -> Result<isize, StoreError> {
    let before = match Waiting::of(tables, txn)? {
        Some(waiting) => waiting.length()?,
        None => 0,
    };
    // Both are much shorter than the greatest number; a row gets shorter when it is compressed.
    let longer = octets.len().cast_signed() - before.cast_signed();
    // A row that waits is read as it stands, so it is never compressed.
    let length = row.length().max(octets.len());
    // Another commit like this one, or a longer one, is taken in as long as the row does not take a second page.
    if length > WAITING || length.saturating_add_signed(longer + longer / 4) > PAGE {
        delete(tables, txn)?;
        settled(log, txn, row.last, octets)?;
        return Ok(longer);
    }
    let mut waiting = Vec::with_capacity(varint::MAX_LENGTH + octets.len());
    varint::put(&mut waiting, row.last);
    waiting.extend_from_slice(octets);
    let mut octets = waiting.chunks(PART);
    for part in PARTS {
        match octets.next() {
            Some(octets) => tables.put_meta(txn, part, octets)?,
            // What waited before may have been longer: a row is as long as its vector.
            None => tables.delete_meta(txn, part)?,
        }
    }
    *known(last_row) = KnownRow { row, waiting };
    Ok(longer)
}

/// Moves the row that waits to `changes`.
pub(crate) fn settle(tables: &Tables, log: &LogTables, txn: &mut RwTxn<'_>) -> Result<(), StoreError> {
    let Some(waiting) = Waiting::of(tables, txn)? else {
        return Ok(());
    };
    let (last, row) = waiting.row()?;
    let row = row.into_owned();
    delete(tables, txn)?;
    settled(log, txn, last, &row)
}

fn delete(tables: &Tables, txn: &mut RwTxn<'_>) -> Result<(), StoreError> {
    PARTS.into_iter().try_for_each(|part| tables.delete_meta(txn, part))
}

fn settled(log: &LogTables, txn: &mut RwTxn<'_>, last: u64, row: &[u8]) -> Result<(), StoreError> {
    let key = varint::Key::new(last);
    Ok(log
        .changes
        .put_with_flags(txn, heed::PutFlags::APPEND, key.bytes(), row)?)
}
