//! Statistics, hot copy, stale readers.

use std::path::Path;

use heed::CompactionOption;

use super::Database;
use crate::StoreError;

/// Figures of an environment, for cn=Monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatabaseStat {
    /// Entries.
    pub entries: u64,
    /// Pages of the file that have been used (`olmMDBPagesUsed`).
    pub pages_used: u64,
    /// Those of them that hold nothing of the last commit, with those that list them (`olmMDBPagesFree`).
    pub pages_free: u64,
    /// Pages that the file may have (`olmMDBPagesMax`).
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

impl Database {
    /// Figures as of now.
    pub fn stat(&self) -> Result<DatabaseStat, StoreError> {
        let info = self.env.info();
        let txn = self.env.read_txn()?;
        let page_size = u64::from(self.ground.tables.entries.stat(&txn)?.page_size).max(1);
        let pages_used = info.last_page_number as u64 + 1;
        let unnamed = self.env.unnamed_database_stat();
        let mut held = META_PAGES + unnamed.branch_pages + unnamed.leaf_pages + unnamed.overflow_pages;
        for table in self.ground.tables.all() {
            let stat = table.stat(&txn)?;
            held += stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        }
        Ok(DatabaseStat {
            entries: self.ground.tables.entries.len(&txn)?,
            pages_used,
            pages_free: pages_used.saturating_sub(held as u64),
            pages_max: info.map_size as u64 / page_size,
            page_size,
            readers_used: info.number_of_readers,
            readers_max: info.maximum_number_of_readers,
        })
    }
    /// Frees the reader slots of processes that died. Returns their number.
    pub fn check_readers(&self) -> Result<usize, StoreError> {
        Ok(self.env.clear_stale_readers()?)
    }
    /// Copies a consistent state to `data.mdb` in `directory`, which must exist, while the database is in use. A
    /// compacted copy has no free pages and takes longer.
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
            .mode(self.ground.options.mode)
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

    /// Writes a consistent state, as [`Database::copy_to`] does, to an open file or a pipe. Pages are written as they
    /// are, free ones included, in their order.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn copy_into(&self, file: &mut std::fs::File) -> Result<(), StoreError> {
        Ok(self.env.copy_to_file(file, CompactionOption::Disabled)?)
    }
}
