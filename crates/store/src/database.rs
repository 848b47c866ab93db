//! One LMDB environment: opening, snapshots, the write transaction.

use std::{path::PathBuf, sync::Arc};

use ironbark_model::{Dn, Schema};

use crate::{ChangeRecord, EntryId, StoreError, View};

/// How a database is opened. Names are those of slapd-mdb(5).
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// `directory`.
    pub directory: PathBuf,
    /// The naming contexts (`suffix`, usually one).
    pub suffixes: Vec<Dn>,
    /// `maxsize` in bytes: the ceiling of the file. `None`: limited by the disk alone.
    pub max_size: Option<u64>,
    /// `maxreaders`.
    pub max_readers: u32,
    /// `mode` of the files.
    pub mode: u32,
    /// `dbnosync` / `envflags nosync`.
    pub no_sync: bool,
    /// `envflags nometasync`.
    pub no_meta_sync: bool,
    /// `envflags writemap`.
    pub write_map: bool,
    /// `envflags mapasync`.
    pub map_async: bool,
    /// `envflags nordahead`.
    pub no_read_ahead: bool,
    /// The wanted indexes.
    pub indexes: Vec<IndexDefinition>,
    /// Whether the database may be changed; tools like slapcat open read-only.
    pub read_only: bool,
}

/// One attribute's line of `index`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDefinition {
    /// Attribute type as text (first NAME, or OID).
    pub attribute: Box<str>,
    /// `pres`.
    pub presence: bool,
    /// `eq`.
    pub equality: bool,
    /// `sub`, `subinitial`, `subany`, `subfinal`: one trigram index serves all.
    pub substring: bool,
    /// `approx`.
    pub approximate: bool,
    /// `nolang`: values with language tags are not indexed under the base type.
    pub no_language: bool,
    /// `nosubtypes`: values of subtypes are not indexed under this type.
    pub no_subtypes: bool,
}

/// An open database. Share it in an `Arc`; all methods may be called from any thread.
pub struct Database {
    _private: (),
}

/// A consistent view of the last commit at the time of [`Database::snapshot`]. Holds an LMDB reader slot: drop it before waiting.
pub struct Snapshot<'d> {
    _private: std::marker::PhantomData<&'d Database>,
}

/// The one write transaction. Blocks other writers of the same file (also other processes) until committed or dropped (aborted).
pub struct WriteTransaction<'d> {
    _private: std::marker::PhantomData<&'d Database>,
}

impl Database {
    /// Opens or creates the environment, checks the format version, registers indexes. New index definitions on an empty database
    /// are active at once; on one with entries they are inactive until `slapindex` (or the online builder) has built them, and
    /// [`Database::inactive_indexes`] names them. Dropped definitions are removed.
    ///
    /// # Errors
    /// Not ours, newer than we are, damaged, no permission.
    pub fn open(options: DatabaseOptions, schema: Arc<Schema>) -> Result<Self, StoreError> {
        let _ = (options, schema);
        todo!()
    }
    /// Indexes that are defined and not built.
    pub fn inactive_indexes(&self) -> Vec<String> {
        todo!()
    }
    /// A number that rises with each commit of this process: lets a reader keep its snapshot while it is unchanged.
    pub fn commit_version(&self) -> u64 {
        todo!()
    }
    /// A read transaction on the last commit.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        todo!()
    }
    /// Begins the write transaction; waits for other processes.
    pub fn write(&self) -> Result<WriteTransaction<'_>, StoreError> {
        todo!()
    }
    /// `checkpoint`, `nosync`: flushes to disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        todo!()
    }
}

impl Snapshot<'_> {
    /// Read operations on this snapshot.
    pub fn view(&self) -> View<'_> {
        todo!()
    }
}

impl WriteTransaction<'_> {
    /// Read operations on the transaction's current state, its own changes included.
    pub fn view(&self) -> View<'_> {
        todo!()
    }
    /// Applies one effect. After an error the transaction must be dropped.
    pub fn apply_effect(&mut self, effect: &crate::Effect) -> Result<EntryId, StoreError> {
        let _ = effect;
        todo!()
    }
    /// Stores the position (CSN and sequence) of a record whose effects were applied one by one.
    pub fn record_position(&mut self, record: &ChangeRecord) -> Result<(), StoreError> {
        let _ = record;
        todo!()
    }
    /// Applies all effects of a record and stores its position. A record at or before the stored position is skipped (idempotent).
    pub fn apply(&mut self, record: &ChangeRecord) -> Result<(), StoreError> {
        let _ = record;
        todo!()
    }
    /// Makes everything visible and, at the configured level, durable. Shared sets and attribute numbers are published first.
    pub fn commit(self) -> Result<(), StoreError> {
        todo!()
    }
}
