//! Posting lists in the table `index`: a row a chunk, key = list key + varint(first ID of the chunk).

use heed::{RoTxn, RwTxn};

use super::{
    IdSet,
    chunk::{self, JOINED_BYTES, MAX_BYTES, Runs, SMALL_BYTES},
    edit::{self, Edit},
};
use crate::{EntryId, StoreError, tables::Table, varint};

pub(super) fn damaged() -> StoreError {
    StoreError::damaged("a posting chunk")
}

/// The key of a chunk.
pub(super) fn chunk_key(list: &[u8], first: EntryId) -> Vec<u8> {
    let mut key = Vec::with_capacity(list.len() + varint::MAX_LENGTH);
    key.extend_from_slice(list);
    varint::put(&mut key, first);
    key
}

/// First ID of the chunk at `key`, if it belongs to `list`.
pub(super) fn first_of(list: &[u8], key: &[u8]) -> Option<EntryId> {
    varint::read(key.strip_prefix(list)?)
}

/// Adds `id` to the list, or removes it, if its chunk need not be read whole for that, and returns whether the list has
/// changed. `None`: nothing was done.
fn edit(
    txn: &mut RwTxn<'_>,
    table: &Table,
    list: &[u8],
    id: EntryId,
    member: bool,
) -> Result<Option<bool>, StoreError> {
    let Some((key, value)) = table.get_lower_than_or_equal_to(txn, &chunk_key(list, id))? else {
        return Ok(None);
    };
    let Some(first) = first_of(list, key) else {
        return Ok(None);
    };
    let mut made = Vec::with_capacity(value.len() + 2 * varint::MAX_LENGTH);
    match edit::edit(first, value, id, member, &mut made).ok_or_else(damaged)? {
        Edit::Unchanged => Ok(Some(false)),
        Edit::Rebuild => Ok(None),
        Edit::Made => {
            table.put(txn, &chunk_key(list, first), &made)?;
            Ok(Some(true))
        }
    }
}

/// Whether an ID is in the list.
pub(crate) fn contains(txn: &RoTxn<'_>, table: &Table, list: &[u8], id: EntryId) -> Result<bool, StoreError> {
    let row = chunk_for(txn, table, list, id)?;
    let holds = |row: Row| row.runs.as_slice().iter().any(|run| (run.0..=run.1).contains(&id));
    Ok(row.is_some_and(holds))
}

/// One chunk as it lies in the table.
struct Row {
    first: EntryId,
    runs: Runs,
}

/// The chunk that holds `id`, or would hold it: the last one that begins at or before it.
fn chunk_for(txn: &RoTxn<'_>, table: &Table, list: &[u8], id: EntryId) -> Result<Option<Row>, StoreError> {
    let Some((key, value)) = table.get_lower_than_or_equal_to(txn, &chunk_key(list, id))? else {
        return Ok(None);
    };
    row(list, key, value)
}

/// The first chunk that begins after `id`.
fn chunk_after(txn: &RoTxn<'_>, table: &Table, list: &[u8], id: EntryId) -> Result<Option<Row>, StoreError> {
    let Some((key, value)) = table.get_greater_than(txn, &chunk_key(list, id))? else {
        return Ok(None);
    };
    row(list, key, value)
}

fn row(list: &[u8], key: &[u8], value: &[u8]) -> Result<Option<Row>, StoreError> {
    let Some(first) = first_of(list, key) else {
        return Ok(None);
    };
    let runs = Runs::decode(first, value).ok_or_else(damaged)?;
    Ok(Some(Row { first, runs }))
}

/// Writes a chunk, in pieces when it has grown too long.
fn put(txn: &mut RwTxn<'_>, table: &Table, list: &[u8], mut runs: Runs, sole: bool) -> Result<(), StoreError> {
    let mut pieces = Vec::new();
    while runs.encoded_length() > MAX_BYTES {
        let Some(upper) = runs.split() else { break };
        pieces.push(std::mem::replace(&mut runs, upper));
        // The lower half may still be too long.
        while pieces.last().is_some_and(|piece| piece.encoded_length() > MAX_BYTES) {
            let Some(mut piece) = pieces.pop() else { break };
            let upper = piece.split();
            pieces.push(piece);
            pieces.extend(upper);
        }
    }
    let sole = sole && pieces.is_empty();
    pieces.push(runs);
    let mut value = Vec::new();
    for piece in &pieces {
        let Some(first) = piece.first() else { continue };
        value.clear();
        piece.encode(sole, &mut value);
        table.put(txn, &chunk_key(list, first), &value)?;
    }
    Ok(())
}

/// Adds an ID; does nothing if it is there. Returns whether it was added.
pub(crate) fn insert(txn: &mut RwTxn<'_>, table: &Table, list: &[u8], id: EntryId) -> Result<bool, StoreError> {
    if let Some(added) = edit(txn, table, list, id, true)? {
        return Ok(added);
    }
    if let Some(mut row) = chunk_for(txn, table, list, id)? {
        let appends = row.runs.last().is_some_and(|last| last < id);
        if !row.runs.insert(id) {
            return Ok(false);
        }
        let runs = if appends && row.runs.encoded_length() > MAX_BYTES {
            // A list that grows at its end leaves full chunks behind.
            Runs::one(id)
        } else {
            row.runs
        };
        put(txn, table, list, runs, false)?;
    } else if let Some(mut row) = chunk_after(txn, table, list, id)? {
        table.delete(txn, &chunk_key(list, row.first))?;
        row.runs.insert(id);
        put(txn, table, list, row.runs, false)?;
    } else {
        put(txn, table, list, Runs::one(id), true)?;
    }
    Ok(true)
}

/// Removes an ID; does nothing if it is not there.
pub(crate) fn remove(txn: &mut RwTxn<'_>, table: &Table, list: &[u8], id: EntryId) -> Result<(), StoreError> {
    if edit(txn, table, list, id, false)?.is_some() {
        return Ok(());
    }
    let Some(mut row) = chunk_for(txn, table, list, id)? else {
        return Ok(());
    };
    if !row.runs.remove(id) {
        return Ok(());
    }
    if row.runs.first() != Some(row.first) {
        table.delete(txn, &chunk_key(list, row.first))?;
    }
    let Some(end) = row.runs.last() else {
        return Ok(());
    };
    if row.runs.encoded_length() < SMALL_BYTES
        && let Some(next) = chunk_after(txn, table, list, end)?
    {
        let mut joined = row.runs.clone();
        for &(from, to) in next.runs.as_slice() {
            joined.push(from, to);
        }
        if joined.encoded_length() <= JOINED_BYTES {
            table.delete(txn, &chunk_key(list, next.first))?;
            row.runs = joined;
        }
    }
    put(txn, table, list, row.runs, false)
}

/// Adds ascending IDs to one list, touching each chunk once.
pub(crate) fn insert_sorted(
    txn: &mut RwTxn<'_>,
    table: &Table,
    list: &[u8],
    ids: &[EntryId],
) -> Result<(), StoreError> {
    let mut rest = ids;
    while let Some((&id, after)) = rest.split_first() {
        let Some(mut row) = chunk_for(txn, table, list, id)? else {
            insert(txn, table, list, id)?;
            rest = after;
            continue;
        };
        let limit = chunk_after(txn, table, list, id)?.map_or(EntryId::MAX, |next| next.first);
        let taken = rest.partition_point(|&id| id < limit);
        let (here, later) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
        for &id in here {
            row.runs.insert(id);
        }
        put(txn, table, list, row.runs, false)?;
        rest = later;
    }
    Ok(())
}

/// The list, if one look-up gives it: it is empty or has one ID. `None`: it is longer.
pub(crate) fn sole(txn: &RoTxn<'_>, table: &Table, list: &[u8]) -> Result<Option<IdSet>, StoreError> {
    let Some((key, value)) = table.get_greater_than_or_equal_to(txn, list)? else {
        return Ok(Some(IdSet::Nothing));
    };
    Ok(match first_of(list, key) {
        None => Some(IdSet::Nothing),
        Some(first) if value.is_empty() => Some(IdSet::One(first)),
        Some(_) => None,
    })
}

/// Adds the whole list (or, with a shorter prefix, all lists that begin so and whose keys have `tail` more bytes) to
/// `set`.
pub(crate) fn read_into(txn: &RoTxn<'_>, table: &Table, list: &[u8], set: &mut IdSet) -> Result<(), StoreError> {
    read_prefix(txn, table, list, 0, set)
}

/// As [`read_into`] for all lists of fixed-length keys that begin with `prefix`; `tail` is the number of bytes that
/// follow it in a key.
pub(crate) fn read_prefix(
    txn: &RoTxn<'_>,
    table: &Table,
    prefix: &[u8],
    tail: usize,
    set: &mut IdSet,
) -> Result<(), StoreError> {
    for row in table.prefix_iter(txn, prefix)? {
        let (key, value) = row?;
        let first = key
            .get(prefix.len() + tail..)
            .and_then(varint::read)
            .ok_or_else(damaged)?;
        set.insert_chunk(first, value).ok_or_else(damaged)?;
    }
    Ok(())
}

/// The result of a bounded look at a list (or prefix of lists).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// Number of IDs, exact when `complete`; otherwise an extrapolation.
    pub(crate) count: u64,
    /// Whether everything was counted.
    pub(crate) complete: bool,
}

/// Chunks that an estimate looks at before it extrapolates.
const ESTIMATE_CHUNKS: usize = 6;

/// Estimates a list from its first chunks and its end.
pub(crate) fn estimate(txn: &RoTxn<'_>, table: &Table, list: &[u8], tail: usize) -> Result<Estimate, StoreError> {
    let mut count = 0u64;
    let mut begin = None;
    let mut reached = 0;
    for (seen, row) in table.prefix_iter(txn, list)?.enumerate() {
        let (key, value) = row?;
        let first = key
            .get(list.len() + tail..)
            .and_then(varint::read)
            .ok_or_else(damaged)?;
        begin.get_or_insert(first);
        if seen == ESTIMATE_CHUNKS {
            let end = last_chunk(txn, table, list, tail)?.unwrap_or(first);
            let covered = first.saturating_sub(begin.unwrap_or(0)).max(1);
            let span = end.saturating_sub(begin.unwrap_or(0)).max(covered);
            let scaled = u128::from(count) * u128::from(span) / u128::from(covered);
            // Lists of a prefix overlap: their spans say nothing. The count so far is the lower limit.
            let scaled = if tail == 0 {
                u64::try_from(scaled).unwrap_or(u64::MAX)
            } else {
                count.saturating_mul(8)
            };
            return Ok(Estimate {
                count: scaled.max(count),
                complete: false,
            });
        }
        count += chunk::count(value).ok_or_else(damaged)?;
        reached = reached.max(first);
    }
    Ok(Estimate { count, complete: true })
}

/// Whether a list has more than `limit` IDs.
pub(crate) fn exceeds(txn: &RoTxn<'_>, table: &Table, list: &[u8], limit: u64) -> Result<bool, StoreError> {
    let mut count = 0u64;
    for row in table.prefix_iter(txn, list)? {
        count = count.saturating_add(chunk::count(row?.1).ok_or_else(damaged)?);
        if count > limit {
            return Ok(true);
        }
    }
    Ok(false)
}

/// First ID of the last chunk.
fn last_chunk(txn: &RoTxn<'_>, table: &Table, list: &[u8], tail: usize) -> Result<Option<EntryId>, StoreError> {
    let row = table.rev_prefix_iter(txn, list)?.next().transpose()?;
    Ok(row.and_then(|(key, _)| key.get(list.len() + tail..).and_then(varint::read)))
}

#[cfg(test)]
mod tests;
