//! Whether each commit is flushed to the disk.

use super::Database;
use crate::{
    StoreError,
    checkpoint::{Checkpoint, Settled},
};

impl Database {
    /// `checkpoint`, `nosync`: flushes to disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        Ok(self.env.force_sync()?)
    }

    /// From now on commits are not flushed, but [checkpoints](Database::checkpoint) are made. After a crash of the
    /// machine the database is opened as it was at the last one. Nothing is lost when the process ends alone.
    ///
    /// Only the one that commits may call this. It is in force until [`Database::flush_each_commit`].
    ///
    /// # Errors
    /// Another process does this, or the disk refuses: commits are flushed as before.
    pub fn defer_flushes(&self) -> Result<(), StoreError> {
        self.common.checkpoints.begin()
    }

    /// Begins a checkpoint at the last commit. `None`: each commit is flushed.
    ///
    /// # Errors
    /// LMDB has no room for a reader.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.common.checkpoints.next()
    }

    /// Flushes all commits, and each one from now on.
    ///
    /// # Errors
    /// The disk fails: the next one who opens the database takes it back to the last checkpoint.
    pub fn flush_each_commit(&self) -> Result<(), StoreError> {
        self.common.checkpoints.end()
    }

    /// Whether its file was taken back to a checkpoint when it was opened.
    pub fn was_taken_back(&self) -> bool {
        self.common.checkpoints.settled() == Settled::TakenBack
    }

    /// Whether a `checkpoint.mdb` of another file, or one that cannot be read, lay beside its file when it was opened.
    /// The record has another name now, and the file was left as it was.
    pub fn has_put_record_aside(&self) -> bool {
        self.common.checkpoints.settled() == Settled::PutAside
    }
}
