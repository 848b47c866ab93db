//! Whether the pages of an open environment are what we take them for: some rows are looked up in both ways.

use std::sync::Arc;

use heed::RoTxn;

use super::{
    LANES, Map, RowsAhead,
    pages::Mapped,
    row_of,
    walk::{self, Lane},
};
use crate::{
    StoreError,
    check::file::Root,
    tables::{Environment, Table, Tables},
    varint,
};

/// Rows of each table that are compared.
const ROWS: usize = 64;

/// The map of an environment, if looking ahead in it finds what LMDB finds. It does not when a later LMDB has other
/// pages.
///
/// # Errors
/// The database cannot be read.
pub(crate) fn map_of(env: &Environment, tables: &Tables) -> Result<Option<Arc<Map>>, StoreError> {
    let txn = env.read_txn()?;
    let Some(row) = row_of(&txn, tables, "index") else {
        return Ok(None);
    };
    let Some(map) = Map::of(env, &txn, row)?.map(Arc::new) else {
        return Ok(None);
    };
    let Some(ahead) = RowsAhead::of(&map, &txn, tables) else {
        return Ok(None);
    };
    let pages = ahead.pages.of(&txn);
    let index = ends_of(&tables.index, &txn)?;
    let entries = spread_over(&tables.entries, &txn)?;
    let agrees = agree(pages, &ahead.index, (&tables.index, &txn), &index)?
        && agree(pages, &ahead.entries, (&tables.entries, &txn), &entries)?;
    Ok(agrees.then_some(map))
}

/// Keys of the first rows and of the last ones.
fn ends_of(table: &Table, txn: &RoTxn<'_>) -> Result<Vec<Vec<u8>>, StoreError> {
    let (first, last) = (table.iter(txn)?, table.rev_iter(txn)?);
    let rows = first.take(ROWS / 2).chain(last.take(ROWS / 2));
    Ok(rows
        .map(|row| row.map(|(key, _)| key.to_vec()))
        .collect::<Result<_, _>>()?)
}

/// Keys of rows at equal distances, in a table whose keys are numbers.
fn spread_over(table: &Table, txn: &RoTxn<'_>) -> Result<Vec<Vec<u8>>, StoreError> {
    let last = table.last(txn)?.and_then(|(key, _)| varint::read(key)).unwrap_or(0);
    let step = usize::try_from(last / ROWS as u64).unwrap_or(usize::MAX).max(1);
    let numbers = (1..=last).step_by(step).take(ROWS);
    Ok(numbers
        .map(|number| varint::Key::new(number).bytes().to_vec())
        .collect())
}

/// Whether those rows of these keys that are there are found in the same places.
fn agree(
    pages: Mapped<'_>,
    root: &Root,
    (table, txn): (&Table, &RoTxn<'_>),
    keys: &[Vec<u8>],
) -> Result<bool, StoreError> {
    for some in keys.chunks(LANES) {
        let lanes = walk::descend(pages, root, some.iter().map(Vec::as_slice));
        for (number, key) in some.iter().enumerate() {
            let lane = lanes.iter().find(|lane| lane.number == number);
            let node = lane.and_then(Lane::node).filter(|node| node.key == &**key);
            let found = node.and_then(|node| pages.bytes(pages.place(node)?));
            let expected = table.get(txn, key)?;
            if found.map(<[u8]>::as_ptr_range) != expected.map(<[u8]>::as_ptr_range) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
