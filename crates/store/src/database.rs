//! One LMDB environment: opening, snapshots, the write transaction.

mod flushing;
mod indexing;
mod maintenance;
mod open;
mod schema;
mod sums;

use std::sync::{Arc, Mutex, MutexGuard, atomic::AtomicBool};

use arc_swap::ArcSwapOption;
use heed::{RoTxn, WithoutTls};
use ironbark_model::{
    Schema,
    schema::{ClassNumber, TypeNumber},
};

use crate::{
    EnvironmentNumber, StoreError, Version, View,
    ahead::{EqualityList, FoundAhead, Map, SnapshotAhead},
    buckets::KnownSums,
    catalog::IndexKind,
    checkpoint::Checkpoints,
    claim::Claim,
    ground::Ground,
    hash::MemberHash,
    log::recent::KnownRow,
    numbering::{Numbering, PublishedNumbering},
    options::{DatabaseOptions, IndexDefinition},
    points::{Point, reach},
    sets::SetWriter,
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
    pub(crate) numbering: PublishedNumbering,
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
    /// Locked by writers before they ask for LMDB's lock, and by nobody else.
    writer: Mutex<SetWriter>,
    environment: EnvironmentNumber,
    /// For looking ahead. `None`: see [`Database::looks_ahead`].
    map: Option<Arc<Map>>,
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
    /// `None`: it is open for reading only. It is given up last.
    _claim: Option<Claim>,
}

impl Database {
    /// Whether the other one is the same environment, perhaps under another schema.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// The number of its environment in this process.
    pub fn environment(&self) -> EnvironmentNumber {
        self.ground.environment
    }

    /// Whether look-ups may be made together. They are not where the kernel does not read ahead: such a file may be
    /// larger than memory, and a look ahead would wait for the disk. Otherwise `false` means that this LMDB has pages
    /// that we do not know.
    pub fn looks_ahead(&self) -> bool {
        self.common.map.is_some()
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
    pub(crate) numbering: Arc<Numbering>,
}

/// A [`Snapshot`] that holds its database: for a caller that serves several requests on the same snapshot.
pub struct HeldSnapshot {
    txn: RoTxn<'static, WithoutTls>,
    database: Arc<Database>,
    numbering: Arc<Numbering>,
    ahead: SnapshotAhead,
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
        Self::open_with(options, schema, None)
    }
    /// The same. A new file gets this hash; `None`: one with a key of its own.
    pub(crate) fn open_with(
        options: DatabaseOptions,
        schema: Arc<Schema>,
        member_hash: Option<MemberHash>,
    ) -> Result<Self, StoreError> {
        open::open(options, schema, member_hash)
    }
    /// Says which entries derived attributes depend on: those with an attribute of these types, or a subtype, and those
    /// of these classes, or a subclass. Only a change of such an entry raises [`View::derived_version`] from now on;
    /// without this call each commit does.
    pub fn watch(&self, types: Vec<TypeNumber>, classes: Vec<ClassNumber>) {
        self.watched.store(Some(Arc::new(Watched { types, classes })));
    }
    /// Indexes that are defined but not built, as `attribute kind`.
    pub fn inactive_indexes(&self) -> Vec<String> {
        let numbering = self.numbering.newest();
        numbering
            .catalog
            .indexes
            .iter()
            .filter(|index| !index.stored.is_complete())
            .map(|index| index.stored.text())
            .collect()
    }
    /// The indexes that the file has, whatever the options say.
    pub fn index_definitions(&self) -> Vec<IndexDefinition> {
        let numbering = self.numbering.newest();
        let mut definitions: Vec<IndexDefinition> = Vec::new();
        for index in numbering.catalog.indexes.iter().map(|index| &index.stored) {
            let place = definitions.iter().position(|known| known.attribute == index.attribute);
            let place = place.unwrap_or_else(|| {
                definitions.push(IndexDefinition {
                    attribute: index.attribute.clone(),
                    no_language: index.no_language,
                    no_subtypes: index.no_subtypes,
                    ..IndexDefinition::default()
                });
                definitions.len() - 1
            });
            if let Some(definition) = definitions.get_mut(place) {
                definition.presence |= index.kind == IndexKind::Presence;
                definition.equality |= index.kind.is_equality();
                definition.substring |= index.kind == IndexKind::Substring;
                definition.approximate |= index.kind == IndexKind::Approximate;
            }
        }
        definitions
    }
    /// The options it was opened with.
    pub fn options(&self) -> &DatabaseOptions {
        &self.ground.options
    }
    /// The current schema.
    pub fn schema(&self) -> Arc<Schema> {
        self.numbering.newest().catalog.schema.clone()
    }
    /// A read transaction on the last commit.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        let txn = self.env.read_txn()?;
        reach(Point::SnapshotTaken);
        let numbering = self.numbering.of_transaction(&txn, txn.id(), &self.ground.tables)?;
        Ok(Snapshot {
            txn,
            database: self,
            numbering,
        })
    }
    /// As [`Database::snapshot`].
    pub fn hold(self: &Arc<Self>) -> Result<HeldSnapshot, StoreError> {
        let txn = self.env.clone().static_read_txn()?;
        reach(Point::SnapshotTaken);
        let numbering = self.numbering.of_transaction(&txn, txn.id(), &self.ground.tables)?;
        Ok(HeldSnapshot {
            txn,
            database: Arc::clone(self),
            numbering,
            ahead: SnapshotAhead::new(self.common.map.clone()),
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

    #[cfg(test)]
    pub(crate) fn lock_writer_is_free(&self) -> bool {
        self.common.writer.try_lock().is_ok()
    }
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, SetWriter> {
        // A panic elsewhere leaves the tracker sound: it holds only counts and numbers.
        self.common
            .writer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl View<'_> {
    /// Whether the snapshot is of this database, under any schema.
    pub fn is_of(&self, database: &Database) -> bool {
        self.ground.environment == database.ground.environment
    }
}

impl Snapshot<'_> {
    /// Read operations on this snapshot.
    pub fn view(&self) -> View<'_> {
        View::of_snapshot(&self.txn, &self.database.ground, &self.numbering)
    }
    /// The commit that it shows.
    pub fn version(&self) -> Version {
        Version::new(self.database.ground.environment, self.txn.id())
    }
}

impl HeldSnapshot {
    /// Read operations on this snapshot. They use what was looked up ahead.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View {
            ahead: Some(&self.ahead),
            ..View::of_snapshot(&self.txn, &self.database.ground, &self.numbering)
        }
    }
    /// Looks up entries of an equality index together, and their records, so that no look-up waits for memory while
    /// others could be under way. Searches for them find them then without LMDB. This changes no result. What was found
    /// before is forgotten. Lists beyond the first [`crate::LANES`] are not looked up. Returns which of them have one
    /// entry.
    pub fn look_ahead(&self, lists: &[EqualityList]) -> FoundAhead {
        let ahead = self.ahead.get_or_make(&self.txn, &self.database.ground.tables);
        ahead.map_or_else(FoundAhead::default, |ahead| ahead.look(&self.txn, lists))
    }
    /// The commit that it shows.
    #[inline]
    pub fn version(&self) -> Version {
        Version::new(self.database.ground.environment, self.txn.id())
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
