//! Statistics, hot copy, stale readers, and building indexes.

use std::path::Path;

use heed::CompactionOption;

use super::Database;
use crate::{EntryId, StoreError, keys::KeySet, posting::list, record::image::Image, tables::Tables, write};

/// Figures of an environment, for cn=Monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatabaseStat {
    /// Entries.
    pub entries: u64,
    /// Pages of the file that have been used (`olmMDBPagesUsed`).
    pub pages_used: u64,
    /// Those of them that hold nothing of the last commit, with those that list them (`olmMDBPagesFree`).
    pub pages_free: u64,
    /// Pages that the map has room for (`olmMDBPagesMax`).
    pub pages_max: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Reader slots in use (`olmMDBReadersUsed`).
    pub readers_used: u32,
    /// Reader slots (`olmMDBReadersMax`).
    pub readers_max: u32,
}

/// Pages at the beginning of each file.
const META_PAGES: usize = 2;
/// Entries that one step of a build reads: bounds the time that writers wait.
const STEP_ENTRIES: usize = 20_000;
/// Rows that one step deletes.
const STEP_ROWS: usize = 100_000;

impl Database {
    /// Figures as of now.
    pub fn stat(&self) -> Result<DatabaseStat, StoreError> {
        let info = self.env.info();
        let txn = self.env.read_txn()?;
        let page_size = u64::from(self.tables.entries.stat(&txn)?.page_size).max(1);
        let pages_used = info.last_page_number as u64 + 1;
        let unnamed = self.env.unnamed_database_stat();
        let mut held = META_PAGES + unnamed.branch_pages + unnamed.leaf_pages + unnamed.overflow_pages;
        for table in self.tables.all() {
            let stat = table.stat(&txn)?;
            held += stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        }
        Ok(DatabaseStat {
            entries: self.tables.entries.len(&txn)?,
            pages_used,
            pages_free: pages_used.saturating_sub(held as u64),
            pages_max: info.map_size as u64 / page_size,
            page_size,
            readers_used: info.number_of_readers,
            readers_max: info.maximum_number_of_readers,
        })
    }
    /// Frees the reader slots of processes that died; their number.
    pub fn check_readers(&self) -> Result<usize, StoreError> {
        Ok(self.env.clear_stale_readers()?)
    }
    /// Copies a consistent state to `data.mdb` in `directory`, which must exist, while the database is in use. A compacted copy has
    /// no free pages and takes longer.
    ///
    /// # Errors
    /// The file exists; the target is full.
    pub fn copy_to(&self, directory: &Path, compact: bool) -> Result<(), StoreError> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = directory.join("data.mdb");
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .read(true)
            .create_new(true)
            .mode(self.options.mode)
            .open(&path)
            .map_err(|error| StoreError::file(&path, error))?;
        let option = if compact {
            CompactionOption::Enabled
        } else {
            CompactionOption::Disabled
        };
        let copied = self
            .env
            .copy_to_file(&mut file, option)
            .map_err(StoreError::from)
            .and_then(|()| file.sync_all().map_err(|error| StoreError::file(&path, error)));
        if copied.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        copied
    }
    /// Builds indexes anew: of the attributes named, or of all that are inactive when none is named. Works in bounded steps, between
    /// which other writers go on; they keep the index up to date from the first step on. `progress` is called with the number of
    /// entries done.
    ///
    /// # Errors
    /// No index is defined for an attribute.
    pub fn reindex(&self, attributes: &[&str], progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        let chosen = self.choose_indexes(attributes)?;
        if chosen.is_empty() {
            return Ok(());
        }
        self.set_index_state(&chosen, false)?;
        for &number in &chosen {
            let prefix = crate::varint::Key::new(number);
            loop {
                let mut write = self.write()?;
                let deleted = Tables::delete_prefix(&mut write.txn, &self.tables.index, prefix.bytes(), STEP_ROWS)?;
                write.commit()?;
                if deleted < STEP_ROWS {
                    break;
                }
            }
        }
        let (mut after, mut done) = (0, 0u64);
        loop {
            let mut write = self.write()?;
            let (last, count) = build_step(&mut write, &chosen, after)?;
            write.commit()?;
            done += count as u64;
            progress(done);
            if count < STEP_ENTRIES {
                break;
            }
            after = last;
        }
        self.set_index_state(&chosen, true)
    }

    fn choose_indexes(&self, attributes: &[&str]) -> Result<Vec<u64>, StoreError> {
        let catalog = self.catalog.load();
        let inactive = catalog.indexes.iter().filter(|index| !index.stored.active);
        if attributes.is_empty() {
            return Ok(inactive.map(|index| index.stored.number).collect());
        }
        let mut chosen = Vec::new();
        for attribute in attributes {
            let wanted = catalog
                .schema
                .find_attribute_type(attribute.as_bytes())
                .map(|found| found.number);
            let before = chosen.len();
            let of_type = catalog
                .indexes
                .iter()
                .filter(|index| Some(index.attribute_type) == wanted);
            chosen.extend(of_type.map(|index| index.stored.number));
            if chosen.len() == before {
                return Err(StoreError::Format(format!(
                    "no index is defined for attribute \"{attribute}\""
                )));
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }

    fn set_index_state(&self, chosen: &[u64], active: bool) -> Result<(), StoreError> {
        let mut write = self.write()?;
        let mut catalog = (*write.catalog).clone();
        for index in catalog
            .indexes
            .iter_mut()
            .filter(|index| chosen.contains(&index.stored.number))
        {
            index.stored.active = active;
            index.stored.store(&mut write.txn, &self.tables)?;
        }
        write.catalog = std::sync::Arc::new(catalog);
        write.commit()
    }
}

/// Adds the keys of the next entries; the last ID and the number of entries.
fn build_step(
    write: &mut write::WriteTransaction<'_>,
    chosen: &[u64],
    after: EntryId,
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
    let mut keys = KeySet::default();
    let start = crate::varint::Key::new(after);
    let range = (std::ops::Bound::Excluded(start.bytes()), std::ops::Bound::Unbounded);
    for row in write.tables().entries.range(&write.txn, &range)?.take(STEP_ENTRIES) {
        let (key, bytes) = row?;
        let id = crate::varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
        let image = Image::decode(bytes, write.shared()).ok_or_else(|| StoreError::damaged("a record"))?;
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
        keys.sort();
        pairs.extend(keys.iter().map(|key| (key.into(), id)));
        last = id;
        count += 1;
    }
    pairs.sort_unstable();
    let tables = *write.tables();
    for group in pairs.chunk_by(|a, b| a.0 == b.0) {
        let ids: Vec<EntryId> = group.iter().map(|pair| pair.1).collect();
        if let Some((key, _)) = group.first() {
            list::insert_sorted(&mut write.txn, &tables.index, key, &ids)?;
        }
    }
    Ok((last, count))
}
