//! Indexes of a database in use: defining them, and building and deleting them in bounded steps between other writes.
//!
//! Invariant: an index is used only when it holds the keys of all entries. Writers keep it up to date from its
//! definition on, so each entry has to be read only once. The row of an index says how far it has been built; each step
//! writes the row in its transaction, so a build goes on after a crash.

use std::{
    ops::{Bound, ControlFlow},
    sync::{Arc, atomic::Ordering},
};

use ironbark_model::Schema;

use super::Database;
use crate::{
    EntryId, StoreError,
    catalog::{
        IndexState,
        index::{self, StoredIndex},
    },
    external::Row,
    keys::KeySet,
    options::IndexDefinition,
    posting::list,
    record::image::Image,
    shared_keys::{self, SharedKeys},
    tables::{MetaRow, Tables},
    varint, write,
};

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexProgress {
    /// Attribute and kind: `cn eq`.
    pub index: String,
    /// Entries that are in it.
    pub done: u64,
    /// Entries in the database.
    pub total: u64,
}

/// What one step did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexStep {
    /// Keys of a dropped index were deleted.
    Deleted {
        /// Attribute and kind: `cn eq`.
        index: String,
        /// Whether those were the last.
        is_complete: bool,
    },
    /// Keys of further entries were added.
    Built {
        /// The indexes that are built together.
        progress: Vec<IndexProgress>,
        /// Whether they are in use from now on.
        is_complete: bool,
    },
}

/// Entries that one step of [`Database::reindex`] reads: bounds the time that writers wait.
const STEP_ENTRIES: usize = 20_000;
/// Rows that are deleted in the time that it takes to read an entry and to add its keys.
const ROWS_PER_ENTRY: usize = 8;

impl Database {
    /// Checks whether indexes can be defined under a schema: fails where [`Database::define_indexes`] would, before
    /// anything is changed.
    ///
    /// # Errors
    /// An attribute is not in the schema; there are too many indexes.
    pub fn check_indexes(schema: &Schema, definitions: &[IndexDefinition]) -> Result<(), StoreError> {
        index::check(schema, definitions)
    }

    /// Brings the indexes in line with other definitions, while the database is in use. [`Database::index_step`] builds
    /// the new ones. Dropped indexes serve no further search, unless new indexes of the same attribute and kind are to
    /// replace them.
    ///
    /// # Errors
    /// An attribute is not in the schema; nothing is changed then.
    pub fn define_indexes(&self, definitions: &[IndexDefinition]) -> Result<(), StoreError> {
        let mut write = self.write()?;
        let schema = Arc::clone(&write.catalog.schema);
        if index::register(&mut write.txn, &self.ground.tables, &schema, definitions)? {
            write.reload()?;
            write.commit()?;
            self.common.index_work.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether [`Database::index_step`] may have something to do. Costs next to nothing.
    pub fn has_index_work(&self) -> bool {
        self.common.index_work.load(Ordering::Acquire)
    }

    /// Makes one step towards the defined indexes: reads at most `entries` entries, or deletes rows for about as long.
    /// `None`: there is nothing to do.
    pub fn index_step(&self, entries: usize) -> Result<Option<IndexStep>, StoreError> {
        let step = self.step(None, entries)?;
        if step.is_none() {
            self.common.index_work.store(false, Ordering::Release);
        }
        Ok(step)
    }

    /// The indexes that are being built.
    pub fn index_progress(&self) -> Result<Vec<IndexProgress>, StoreError> {
        let txn = self.env.read_txn()?;
        let total = self.ground.tables.entries.len(&txn)?;
        let rows = index::load(&txn, &self.ground.tables)?;
        Ok(rows.iter().filter_map(|row| progress_of(row, total)).collect())
    }

    /// Builds indexes anew: of the attributes named, or all inactive ones if none is named. Works in bounded steps;
    /// other writers go on between them. `progress` is called before each step with the number of entries done. If it
    /// breaks, the result is false. What is not complete then, or after an error, is left to [`Database::index_step`].
    ///
    /// # Errors
    /// No index is defined for an attribute.
    pub fn reindex(
        &self,
        attributes: &[&str],
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let chosen = self.begin_anew(attributes)?;
        let built = self.build(&chosen, progress);
        if !matches!(built, Ok(true)) {
            self.common.index_work.store(true, Ordering::Release);
        }
        built
    }

    /// Builds indexes until they are complete, or `progress` breaks.
    fn build(&self, chosen: &[u64], progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<bool, StoreError> {
        let mut done = 0;
        // It is asked before the first step too: the server's own builder may have done all of it in the meantime.
        while progress(done).is_continue() {
            let Some(step) = self.step(Some(chosen), STEP_ENTRIES)? else {
                return Ok(true);
            };
            if let IndexStep::Built { progress: built, .. } = step {
                done = built.iter().map(|one| one.done).max().unwrap_or_default();
            }
        }
        Ok(false)
    }

    /// Replaces the indexes of the attributes by empty ones. Returns their numbers, or those of all inactive indexes.
    fn begin_anew(&self, attributes: &[&str]) -> Result<Vec<u64>, StoreError> {
        let mut write = self.write()?;
        let catalog = Arc::clone(&write.catalog);
        if attributes.is_empty() {
            let inactive = catalog.indexes.iter().filter(|index| !index.stored.is_complete());
            return Ok(inactive.map(|index| index.stored.number).collect());
        }
        let mut chosen = Vec::new();
        for attribute in attributes {
            let found = catalog.schema.find_attribute_type(attribute.as_bytes());
            let wanted = found.map(|found| found.number);
            let before = chosen.len();
            let of_type = catalog.indexes.iter();
            chosen.extend(of_type.filter(|index| Some(index.attribute_type) == wanted));
            if chosen.len() == before {
                return Err(StoreError::Format(format!(
                    "no index is defined for attribute \"{attribute}\""
                )));
            }
        }
        chosen.sort_unstable_by_key(|index| index.stored.number);
        chosen.dedup_by_key(|index| index.stored.number);
        let mut next = self.ground.tables.number(&write.txn, MetaRow::NextIndex)?;
        let mut numbers = Vec::new();
        for index in chosen {
            let row = |number, state| StoredIndex {
                number,
                state,
                ..index.stored.clone()
            };
            row(index.stored.number, IndexState::Dropped).store(&mut write.txn, &self.ground.tables)?;
            if index.stored.state != IndexState::Superseded {
                row(next, IndexState::NOT_BUILT).store(&mut write.txn, &self.ground.tables)?;
                numbers.push(next);
                next += 1;
            }
        }
        self.ground
            .tables
            .put_number(&mut write.txn, MetaRow::NextIndex, next)?;
        write.reload()?;
        write.commit()?;
        Ok(numbers)
    }

    /// Makes one step, on dropped indexes first. `only` limits which indexes are built.
    fn step(&self, only: Option<&[u64]>, entries: usize) -> Result<Option<IndexStep>, StoreError> {
        let mut write = self.write()?;
        let rows = index::load(&write.txn, &self.ground.tables)?;
        if let Some(dropped) = rows.iter().find(|row| row.state == IndexState::Dropped) {
            return self.delete_step(write, dropped, entries).map(Some);
        }
        let catalog = Arc::clone(&write.catalog);
        let is_meant = |row: &&StoredIndex| {
            matches!(row.state, IndexState::Building { .. })
                && only.is_none_or(|only| only.contains(&row.number))
                && catalog.indexes.iter().any(|index| index.stored.number == row.number)
        };
        // Indexes that have come equally far are built together. The furthest go first, so that they come into use
        // soon.
        let Some(position) = rows.iter().filter(is_meant).map(StoredIndex::position).max() else {
            return Ok(None);
        };
        let chosen: Vec<&StoredIndex> = rows
            .iter()
            .filter(is_meant)
            .filter(|row| row.position() == position)
            .collect();
        let numbers: Vec<u64> = chosen.iter().map(|row| row.number).collect();
        let (last, count) = build_step(&mut write, &numbers, position, entries)?;
        let is_complete = count < entries;
        let total = self.ground.tables.entries.len(&write.txn)?;
        let mut progress = Vec::new();
        for row in chosen {
            let done = match row.state {
                IndexState::Building { done, .. } => done + count as u64,
                _ => 0,
            };
            let built = StoredIndex {
                state: if is_complete {
                    IndexState::Active
                } else {
                    IndexState::Building { position: last, done }
                },
                ..row.clone()
            };
            built.store(&mut write.txn, &self.ground.tables)?;
            progress.push(IndexProgress {
                index: row.text(),
                done,
                total,
            });
            let superseded = |old: &&StoredIndex| old.state == IndexState::Superseded && old.stands_for(row);
            for old in rows.iter().filter(|_| is_complete).filter(superseded) {
                let dropped = StoredIndex {
                    state: IndexState::Dropped,
                    ..old.clone()
                };
                dropped.store(&mut write.txn, &self.ground.tables)?;
            }
        }
        if is_complete {
            write.reload()?;
        }
        write.commit()?;
        Ok(Some(IndexStep::Built { progress, is_complete }))
    }

    fn delete_step(
        &self,
        mut write: write::WriteTransaction<'_>,
        dropped: &StoredIndex,
        entries: usize,
    ) -> Result<IndexStep, StoreError> {
        let limit = entries.saturating_mul(ROWS_PER_ENTRY);
        let key = varint::Key::new(dropped.number);
        let deleted = Tables::delete_prefix(&mut write.txn, &self.ground.tables.index, key.bytes(), limit)?;
        let is_complete = deleted < limit;
        if is_complete {
            self.ground.tables.indexes.delete(&mut write.txn, key.bytes())?;
        }
        write.commit()?;
        Ok(IndexStep::Deleted {
            index: dropped.text(),
            is_complete,
        })
    }
}

fn progress_of(row: &StoredIndex, total: u64) -> Option<IndexProgress> {
    match row.state {
        IndexState::Building { done, .. } => Some(IndexProgress {
            index: row.text(),
            done,
            total,
        }),
        IndexState::Active | IndexState::Dropped | IndexState::Superseded => None,
    }
}

/// Adds the keys of the next entries. Returns the last ID and the number of entries.
fn build_step(
    write: &mut write::WriteTransaction<'_>,
    chosen: &[u64],
    after: EntryId,
    entries: usize,
) -> Result<(EntryId, usize), StoreError> {
    let catalog = write.catalog.clone();
    let positions: Vec<u16> = catalog
        .indexes
        .iter()
        .zip(0u16..)
        .filter(|(index, _)| chosen.contains(&index.stored.number))
        .map(|(_, at)| at)
        .collect();
    let (mut last, mut count) = (after, 0);
    let mut pairs: Vec<(Box<[u8]>, EntryId)> = Vec::new();
    let mut shared: Vec<(EntryId, Vec<Row>)> = Vec::new();
    let mut keys = KeySet::default();
    let start = varint::Key::new(after);
    let range = (Bound::Excluded(start.bytes()), Bound::Unbounded);
    for row in write.tables().entries.range(&write.txn, &range)?.take(entries) {
        let (key, bytes) = row?;
        let id = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
        let image = Image::decode(id, write.tables().sealed, bytes, write.sets())
            .ok_or_else(|| StoreError::damaged(&format!("the record of entry {id}")))?;
        keys.clear();
        write::index::image_keys(
            &write.txn,
            write.tables(),
            &catalog,
            id,
            &image,
            Some(&positions),
            &mut keys,
        )?;
        let mut fed = shared_keys::fed_by_external(&catalog, shared_keys::external_sets(&image));
        fed.retain(|at| positions.contains(at));
        if !fed.is_empty() {
            shared.push((id, SharedKeys { id }.rows(&catalog, &fed, &keys)));
        }
        keys.sort();
        pairs.extend(keys.iter().map(|key| (key.into(), id)));
        last = id;
        count += 1;
    }
    pairs.sort_unstable();
    let tables = *write.tables();
    for (id, rows) in shared {
        // Changes have counted without the values that are in the index only now.
        let shared = SharedKeys { id };
        for index in positions.iter().filter_map(|&at| catalog.indexes.get(usize::from(at))) {
            shared.clear(&mut write.txn, &tables.values, &index.prefix)?;
        }
        shared_keys::put(&mut write.txn, &tables.values, &rows)?;
    }
    for group in pairs.chunk_by(|a, b| a.0 == b.0) {
        let ids: Vec<EntryId> = group.iter().map(|pair| pair.1).collect();
        if let Some((key, _)) = group.first() {
            list::insert_sorted(&mut write.txn, &tables.index, key, &ids)?;
        }
    }
    Ok((last, count))
}
