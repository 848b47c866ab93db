//! Sorted rows appended to a table: merged and encoded on one thread, appended on another.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use heed::PutFlags;

use super::{BATCH, runs::Merge};
use crate::{Database, EntryId, StoreError, posting::chunk::Chunker, tables::Table, varint};

/// Encoded rows that one thread hands to the other.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    /// For each row, where its key ends and where its value ends.
    ends: Vec<(usize, usize)>,
}

/// Bytes of rows in one hand-over, and how many hand-overs may wait for the other thread.
const HANDED: usize = 1 << 20;
const WAITING: usize = 4;

impl Rows {
    fn put(&mut self, key: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        key(&mut self.bytes);
        let key_end = self.bytes.len();
        value(&mut self.bytes);
        self.ends.push((key_end, self.bytes.len()));
    }
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(key_end, end)| {
            let row = (
                self.bytes.get(start..key_end).unwrap_or_default(),
                self.bytes.get(key_end..end).unwrap_or_default(),
            );
            start = end;
            row
        })
    }
}

/// Encodes a key and its entry IDs as rows.
type Encode = fn(&[u8], &[EntryId], &mut Rows);

/// Appends names and index keys; the latter are merged while the former are appended.
pub(super) fn append_sorted(database: &Database, names: Merge<'_>, keys: Merge<'_>) -> Result<(), StoreError> {
    std::thread::scope(|scope| {
        let (name_sender, name_rows) = sync_channel(WAITING);
        let (key_sender, key_rows) = sync_channel(WAITING);
        let threads = [
            scope.spawn(move || merge(names, put_name, &name_sender)),
            scope.spawn(move || merge(keys, put_postings, &key_sender)),
        ];
        let appended = append(database, &database.ground.tables.names, name_rows)
            .and_then(|()| append(database, &database.ground.tables.index, key_rows));
        let merged = threads.map(|thread| {
            let failed = |_| Err(StoreError::Format("a merging thread has failed".into()));
            thread.join().unwrap_or_else(failed)
        });
        merged.into_iter().collect::<Result<(), _>>().and(appended)
    })
}

/// Merges until the sources end, or until the receiver is gone.
fn merge(mut merge: Merge<'_>, encode: Encode, sender: &SyncSender<Rows>) -> Result<(), StoreError> {
    let mut rows = Rows::default();
    while let Some((key, ids)) = merge.next()? {
        encode(key, ids, &mut rows);
        if rows.bytes.len() > HANDED && sender.send(std::mem::take(&mut rows)).is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(rows);
    Ok(())
}

fn put_name(key: &[u8], ids: &[EntryId], rows: &mut Rows) {
    let id = varint::Key::new(ids.first().copied().unwrap_or_default());
    rows.put(
        |out| out.extend_from_slice(key),
        |out| out.extend_from_slice(id.bytes()),
    );
}

fn put_postings(key: &[u8], ids: &[EntryId], rows: &mut Rows) {
    let mut chunker = Chunker::default();
    let sole = ids.len() == 1;
    let mut put = |runs: &crate::posting::chunk::Runs| {
        rows.put(
            |out| {
                out.extend_from_slice(key);
                varint::put(out, runs.first().unwrap_or_default());
            },
            |out| runs.encode(sole, out),
        );
    };
    for &id in ids {
        if let Some(full) = chunker.push(id) {
            put(&full);
        }
    }
    if let Some(rest) = chunker.finish() {
        put(&rest);
    }
}

/// Appends the received rows, in transactions of bounded size.
fn append(database: &Database, table: &Table, received: Receiver<Rows>) -> Result<(), StoreError> {
    let mut txn = database.env.write_txn()?;
    let mut written = 0;
    for rows in received {
        for (key, value) in rows.iter() {
            table.put_with_flags(&mut txn, PutFlags::APPEND, key, value)?;
        }
        written += rows.bytes.len() + 16 * rows.ends.len();
        if written > BATCH {
            txn.commit()?;
            txn = database.env.write_txn()?;
            written = 0;
        }
    }
    Ok(txn.commit()?)
}
