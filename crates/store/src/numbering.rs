//! What the numbers in records stand for, as of one commit: attributes, indexes, shared sets.
//!
//! Invariant: the reader of a snapshot has a [`Numbering`] that knows every number in it. The writer publishes one
//! before its commit. A reader that sees the commit of another process, or of another handle, makes one from its own
//! snapshot. No lock is taken for that, so readers wait for nobody.

use std::sync::Arc;

use heed::RoTxn;

use crate::{
    StoreError,
    catalog::{Catalog, Parts, Undefined},
    publication::{GoodTo, Publication},
    sets::SharedSets,
    tables::Tables,
};

/// An immutable value; swapped whole.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sets: Arc<SharedSets>,
    /// LMDB's number of a transaction whose numbers it has. It may be good for later ones too.
    known_to: usize,
}

impl Numbering {
    pub(crate) fn new(catalog: Arc<Catalog>, sets: Arc<SharedSets>, known_to: usize) -> Self {
        Self {
            catalog,
            sets,
            known_to,
        }
    }

    /// This one with what the file has besides.
    fn with_rows_of(&self, txn: &RoTxn<'_>, commit: usize, tables: &Tables) -> Result<Self, StoreError> {
        let mut sets = Arc::clone(&self.sets);
        let mut loaded = SharedSets::clone(&sets);
        if loaded.load(txn, tables)? {
            sets = Arc::new(loaded);
        }
        let parts = Parts::load(txn, tables, &self.catalog.indexes)?;
        let catalog = Catalog::build(Arc::clone(&self.catalog.schema), parts, Undefined::Invisible)?;
        Ok(Self::new(Arc::new(catalog), sets, commit))
    }
}

impl GoodTo for Numbering {
    fn good_to(&self) -> usize {
        self.known_to
    }
}

/// The numbering that is in force for one handle on a database.
pub(crate) type PublishedNumbering = Publication<Numbering>;

impl PublishedNumbering {
    /// The numbering for an open transaction, all of whose commits up to `commit` are visible to it.
    ///
    /// # Errors
    /// The storage failed, or the file contradicts what is known.
    #[inline]
    pub(crate) fn of_transaction(
        &self,
        txn: &RoTxn<'_>,
        commit: usize,
        tables: &Tables,
    ) -> Result<Arc<Numbering>, StoreError> {
        self.of(commit, |current| current.with_rows_of(txn, commit, tables))
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, time::Duration};

    use ironbark_model::Schema;

    use super::Numbering;
    use crate::{Database, DatabaseOptions, StoreError};

    fn open(directory: &std::path::Path) -> Result<Database, StoreError> {
        let options = DatabaseOptions {
            directory: directory.to_owned(),
            suffixes: Vec::new(),
            max_size: Some(1 << 24),
            max_readers: 8,
            mode: 0o600,
            no_sync: true,
            no_meta_sync: false,
            no_read_ahead: false,
            indexes: Vec::new(),
            read_only: false,
        };
        Database::open(options, Schema::system())
    }

    /// Gives the next attribute number, as another process would that does not know this one.
    fn commit_elsewhere(database: &Database, text: &[u8]) {
        let tables = &database.ground.tables;
        let mut txn = database.env.write_txn().unwrap();
        let number = tables.attributes.len(&txn).unwrap();
        tables.put_sealed(&mut txn, &tables.attributes, number, text).unwrap();
        txn.commit().unwrap();
    }

    #[test]
    fn readers_wait_for_no_writer_that_waits_for_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path()).unwrap();
        commit_elsewhere(&database, b"cn;lang-x");
        let (begun, has_begun) = channel();
        let (done, is_done) = channel();
        std::thread::scope(|scope| {
            // What another process does that is stopped.
            let held = database.env.write_txn().unwrap();
            scope.spawn(|| {
                begun.send(()).unwrap();
                drop(database.write().unwrap());
            });
            has_begun.recv().unwrap();
            while database.lock_writer_is_free() {
                std::thread::yield_now();
            }
            scope.spawn(|| {
                let snapshot = database.snapshot().unwrap();
                done.send(snapshot.numbering.catalog.texts().len()).unwrap();
            });
            let seen = is_done.recv_timeout(Duration::from_secs(20));
            drop(held);
            assert_eq!(
                seen,
                Ok(1),
                "the snapshot shows the commit of the other process, and waits for nobody"
            );
        });
    }

    #[test]
    fn a_commit_of_another_process_is_known_to_the_next_snapshot_and_writer() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path()).unwrap();
        let texts = |database: &Database| database.snapshot().unwrap().numbering.catalog.texts().len();
        for count in 1..5 {
            let before = database.snapshot().unwrap();
            commit_elsewhere(&database, format!("cn;lang-x{count}").as_bytes());
            assert_eq!(texts(&database), count);
            assert_eq!(before.numbering.catalog.texts().len(), count - 1);
            let write = database.write().unwrap();
            assert_eq!(write.catalog.texts().len(), count);
        }
    }

    #[test]
    fn a_commit_that_fails_leaves_the_former_numbering() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path()).unwrap();
        let before = database.numbering.newest();
        let commit = database.snapshot().unwrap().txn.id() + 1;
        let next = Numbering::new(before.catalog.clone(), before.sets.clone(), commit);
        let failed = database.numbering.commit(Some(next), commit, || {
            assert!(!std::sync::Arc::ptr_eq(&before, &database.numbering.newest()));
            Err::<(), ()>(())
        });
        assert_eq!(failed, Err(()));
        assert!(std::sync::Arc::ptr_eq(&before, &database.numbering.newest()));
        commit_elsewhere(&database, b"cn;lang-x");
        assert_eq!(database.snapshot().unwrap().numbering.catalog.texts().len(), 1);
    }

    #[test]
    fn a_data_file_is_written_by_one_opener_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path()).unwrap();
        assert!(matches!(
            crate::claim::Claim::take(folder.path()),
            Err(StoreError::InUse(_))
        ));
        // Readers need no claim, and a snapshot keeps it.
        drop(database);
        assert!(crate::claim::Claim::take(folder.path()).unwrap().is_some());
        assert!(open(folder.path()).is_ok());
    }
}
