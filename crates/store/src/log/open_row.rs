//! The last row of the log, which is still open: the changes of the next commits are added to it.
//!
//! A row of its own in `changes` makes a commit write a page of each level of that table. But a commit writes the page
//! of `meta` anyway. So the last row stays there while it is short, and then moves to `changes`. Its content is
//! `varint number of its last change` and the row as in `changes`.

use heed::{PutFlags, RoTxn, RwTxn};

use super::{
    NumberedRow, damaged, read_row,
    row::{GatheredChanges, tail},
};
use crate::{
    StoreError,
    csn::ContextVector,
    hash,
    tables::{LogTables, MetaRow, Tables},
    varint,
};

/// The greatest length of the open row, in octets. LMDB keeps so much in the page of the table itself.
const MOST_OCTETS: usize = 1984;

/// The number of its last change, and the row.
pub(super) fn read<'t>(tables: &Tables, txn: &'t RoTxn<'_>) -> Result<Option<(u64, &'t [u8])>, StoreError> {
    tables.meta(txn, MetaRow::OpenRow)?.map(parts).transpose()
}

fn parts(mut content: &[u8]) -> Result<(u64, &[u8]), StoreError> {
    let last = varint::take(&mut content).ok_or_else(|| damaged("the last row of the log"))?;
    Ok((last, content))
}

/// The open row as it was written last; it need not have been committed.
#[derive(Debug, Default)]
pub(crate) struct WrittenRow {
    content: Vec<u8>,
    /// The end of its records, which the next block may refer to.
    dictionary: Vec<u8>,
}

impl WrittenRow {
    /// Reads another one, after a start or a transaction that was dropped.
    fn read(&mut self, content: &[u8], row: &NumberedRow<'_>) -> Result<(), StoreError> {
        let records = row.row.records().ok_or_else(|| damaged("the last row of the log"))?;
        self.dictionary.clear();
        self.dictionary.extend_from_slice(tail(&records));
        content.clone_into(&mut self.content);
        Ok(())
    }

    /// Appends changes to the open row if they fit. Returns its length in octets before.
    fn add(
        &mut self,
        (tables, content): (&Tables, &[u8]),
        gathered: &GatheredChanges,
        vector: &ContextVector,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, StoreError> {
        let row = read_row(tables, parts(content)?)?;
        if content != self.content {
            self.read(content, &row)?;
        }
        let start = out.len();
        gathered.put_row(Some((&row.row, &self.dictionary)), vector, out);
        if out.len() - start > MOST_OCTETS {
            out.truncate(start);
            return Ok(None);
        }
        Ok(Some(row.octets))
    }
}

/// Adds changes to the log, the last of them number `last`. `vector` is the context vector after them. Returns by how
/// many octets the rows have grown.
pub(crate) fn append(
    (tables, log): (&Tables, &LogTables),
    txn: &mut RwTxn<'_>,
    written: &mut WrittenRow,
    gathered: &GatheredChanges,
    (last, vector): (u64, &ContextVector),
) -> Result<u64, StoreError> {
    let mut content = Vec::with_capacity(2 * MOST_OCTETS);
    varint::put(&mut content, last);
    let start = content.len();
    let former = match tables.meta(txn, MetaRow::OpenRow)? {
        Some(former) => written.add((tables, former), gathered, vector, &mut content)?,
        None => None,
    };
    if former.is_none() {
        settle(tables, log, txn)?;
        written.dictionary.clear();
        gathered.put_row(None, vector, &mut content);
    }
    let is_short = content.len() - start <= MOST_OCTETS;
    if tables.sealed {
        let checksum = hash::checksum(last, content.get(start..).unwrap_or_default());
        content.extend_from_slice(&checksum);
    }
    let row = content.get(start..).unwrap_or_default();
    let grown = row.len() as u64 - former.unwrap_or(0);
    if is_short {
        tables.put_meta(txn, MetaRow::OpenRow, &content)?;
        gathered.extend_dictionary(&mut written.dictionary);
        written.content = content;
    } else {
        put(log, txn, last, row)?;
    }
    Ok(grown)
}

/// Moves the open row to `changes`.
pub(super) fn settle(tables: &Tables, log: &LogTables, txn: &mut RwTxn<'_>) -> Result<(), StoreError> {
    let Some((last, row)) = read(tables, txn)?.map(|(last, row)| (last, row.to_vec())) else {
        return Ok(());
    };
    put(log, txn, last, &row)?;
    tables.delete_meta(txn, MetaRow::OpenRow)
}

fn put(log: &LogTables, txn: &mut RwTxn<'_>, last: u64, row: &[u8]) -> Result<(), StoreError> {
    let key = varint::Key::new(last);
    Ok(log.changes.put_with_flags(txn, PutFlags::APPEND, key.bytes(), row)?)
}
