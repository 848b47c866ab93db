//! One LMDB environment: opening, snapshots, the write transaction.

mod flushing;
mod indexing;
mod maintenance;
mod open;
mod schema;
mod sums;

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use heed::{RoTxn, WithoutTls};
use ironbark_model::{
    Schema,
    schema::{ClassNumber, TypeNumber},
};

use crate::{
    StoreError, View,
    buckets::KnownSums,
    catalog::{Catalog, Parts, Undefined},
    checkpoint::Checkpoints,
    ground::Ground,
    log::recent::KnownRow,
    options::DatabaseOptions,
    sets::{SetWriter, SharedSets},
    tables::{Environment, Tables},
    watched::Watched,
};

pub use crate::write::WriteTransaction;
pub use indexing::{IndexProgress, IndexStep};
pub use maintenance::DatabaseStat;
pub(crate) use open::open_to_look_at;
pub use schema::{ClosedDatabase, LostAttribute};

/// An open database under one schema. Share it in an `Arc`; all methods may be called from any thread.
///
/// [`Database::under`] gives the same environment under another schema: each sees what the other commits.
pub struct Database {
    pub(crate) env: Environment,
    pub(crate) ground: Ground,
    pub(crate) common: Arc<Common>,
    pub(crate) catalog: ArcSwap<Catalog>,
    /// LMDB's number of the last transaction whose attribute numbers and sets are in `catalog` and `sets`.
    pub(crate) loaded: AtomicUsize,
    /// See [`Database::watch`].
    pub(crate) watched: ArcSwapOption<Watched>,
}

/// The state of one environment, shared by all schemas that it is used under.
pub(crate) struct Common {
    env: Environment,
    tables: Tables,
    options: DatabaseOptions,
    /// Device and inode of the file.
    file: (u64, u64),
    pub(crate) sets: Arc<SharedSets>,
    writer: Mutex<SetWriter>,
    /// Whether some index is to be built or deleted.
    index_work: AtomicBool,
    /// Whether a bulk build for it is under way.
    pub(crate) is_built: Arc<AtomicBool>,
    /// Where the next look at tombstones begins.
    pub(crate) tombstones_seen: Mutex<Vec<u8>>,
    /// The last row of the log as the last commit with one has left it, for the next.
    pub(crate) last_row: Mutex<KnownRow>,
    /// The last sums for comparisons of replicas.
    pub(crate) bucket_sums: KnownSums,
    checkpoints: Arc<Checkpoints>,
    was_taken_back: bool,
}

impl Database {
    /// Whether the other one is the same environment, perhaps under another schema.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// Whether the kernel reads ahead.
    pub fn reads_ahead(&self) -> bool {
        !self.ground.options.no_read_ahead
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("directory", &self.ground.options.directory)
            .finish_non_exhaustive()
    }
}

/// A consistent view of the last commit at the time of [`Database::snapshot`]. Holds an LMDB reader slot: drop it
/// before waiting.
pub struct Snapshot<'d> {
    pub(crate) txn: RoTxn<'d, WithoutTls>,
    pub(crate) database: &'d Database,
    pub(crate) catalog: Arc<Catalog>,
}

/// A [`Snapshot`] that holds its database: for a caller that serves several requests on the same snapshot.
pub struct HeldSnapshot {
    txn: RoTxn<'static, WithoutTls>,
    database: Arc<Database>,
    catalog: Arc<Catalog>,
}

impl Database {
    /// Opens or creates the environment, checks the format version, registers indexes. New index definitions on an
    /// empty database are active at once. On a database with entries they are inactive until [`Database::index_step`]
    /// or [`Database::reindex`] has built them; [`Database::inactive_indexes`] names them. Dropped indexes are no
    /// longer used; the same steps delete their keys.
    ///
    /// The file is `data.mdb` in `directory`, which must exist; new files get `mode` (less the umask). `maxsize` (1 TiB
    /// by default) only reserves address space: the file grows as needed.
    ///
    /// # Errors
    /// Not our file, newer than we are, damaged, no permission; an attribute that entries have is not in `schema`.
    pub fn open(options: DatabaseOptions, schema: Arc<Schema>) -> Result<Self, StoreError> {
        open::open(options, schema)
    }
    /// Says which entries derived attributes depend on: those with an attribute of these types, or a subtype, and those
    /// of these classes, or a subclass. Only a change of such an entry raises [`View::derived_version`] from now on;
    /// without this call each commit does.
    pub fn watch(&self, types: Vec<TypeNumber>, classes: Vec<ClassNumber>) {
        self.watched.store(Some(Arc::new(Watched { types, classes })));
    }
    /// Indexes that are defined but not built, as `attribute kind`.
    pub fn inactive_indexes(&self) -> Vec<String> {
        let catalog = self.catalog.load();
        catalog
            .indexes
            .iter()
            .filter(|index| !index.stored.is_complete())
            .map(|index| index.stored.text())
            .collect()
    }
    /// A number that rises with each commit, also with commits of other processes. A reader may keep its snapshot while
    /// the number is unchanged.
    pub fn commit_version(&self) -> u64 {
        self.env.info().last_txn_id as u64
    }
    /// The options it was opened with.
    pub fn options(&self) -> &DatabaseOptions {
        &self.ground.options
    }
    /// The current schema.
    pub fn schema(&self) -> Arc<Schema> {
        self.catalog.load().schema.clone()
    }
    /// A read transaction on the last commit.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        let txn = self.env.read_txn()?;
        let catalog = self.catalog_of(&txn)?;
        Ok(Snapshot {
            txn,
            database: self,
            catalog,
        })
    }
    /// As [`Database::snapshot`].
    pub fn hold(self: &Arc<Self>) -> Result<HeldSnapshot, StoreError> {
        let txn = self.env.clone().static_read_txn()?;
        let catalog = self.catalog_of(&txn)?;
        Ok(HeldSnapshot {
            txn,
            database: Arc::clone(self),
            catalog,
        })
    }
    /// Begins the write transaction; waits for other processes.
    pub fn write(&self) -> Result<WriteTransaction<'_>, StoreError> {
        if self.ground.options.read_only {
            return Err(StoreError::Format("database is open for reading only".into()));
        }
        if self.common.checkpoints.has_lost_pages() {
            return Err(StoreError::Format(
                "a flush to the disk has failed; mend the disk and start the server again".into(),
            ));
        }
        WriteTransaction::begin(self)
    }

    /// The catalog for a read transaction that has just begun.
    fn catalog_of(&self, txn: &RoTxn<'_>) -> Result<Arc<Catalog>, StoreError> {
        if txn.id() > self.loaded.load(Ordering::Acquire) {
            // Another writer has committed, and may have given out numbers that are unknown here.
            let _writer = self.lock_writer();
            self.catch_up(txn)?;
        }
        // Loaded after the transaction has begun: everything that it can hold was published before its commit.
        Ok(self.catalog.load_full())
    }
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, SetWriter> {
        // A panic elsewhere leaves the tracker sound: it holds only counts and numbers.
        self.common
            .writer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    /// Loads numbers and sets that others have committed: other processes, or this process under another schema. The
    /// caller holds the writer's lock.
    pub(crate) fn catch_up(&self, txn: &RoTxn<'_>) -> Result<(), StoreError> {
        if txn.id() <= self.loaded.load(Ordering::Acquire) {
            return Ok(());
        }
        self.common.sets.load(txn, &self.ground.tables)?;
        let current = self.catalog.load_full();
        let parts = Parts::load(txn, &self.ground.tables, &current.indexes)?;
        let catalog = Catalog::build(current.schema.clone(), parts, Undefined::Invisible)?;
        self.catalog.store(Arc::new(catalog));
        self.loaded.store(txn.id(), Ordering::Release);
        Ok(())
    }
}

impl View<'_> {
    /// Whether the snapshot is of this database, under any schema.
    pub fn is_of(&self, database: &Database) -> bool {
        Arc::ptr_eq(&self.ground.sets, &database.ground.sets)
    }
}

impl Snapshot<'_> {
    /// Read operations on this snapshot.
    pub fn view(&self) -> View<'_> {
        View::new(&self.txn, &self.database.ground, &self.catalog)
    }
    /// [`Database::commit_version`] as of this snapshot.
    pub fn version(&self) -> u64 {
        self.txn.id() as u64
    }
}

impl HeldSnapshot {
    /// Read operations on this snapshot.
    pub fn view(&self) -> View<'_> {
        View::new(&self.txn, &self.database.ground, &self.catalog)
    }
    /// Whether nothing was committed since it was taken.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.txn.id() == self.database.env.info().last_txn_id
    }
    /// Whether it is one of this database.
    pub fn is_of(&self, database: &Arc<Database>) -> bool {
        Arc::ptr_eq(&self.database, database)
    }
}
