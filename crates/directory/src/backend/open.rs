//! Opens a database by its settings.

use std::sync::Arc;

use ironbark_config::{
    DatabaseConfig, EnvironmentFlags, IndexKinds, SettingError,
    database::{EntryPlace, IndexSetting},
};
use ironbark_model::Schema;
use ironbark_runtime::process::memory_limit;
use ironbark_store::{Database, DatabaseOptions, IndexDefinition, StoreError};

use super::ldif::{self, LdifBackendError, LdifFiles, LdifLock};
use crate::OpenError;

/// A database that is open for writing.
#[derive(Debug)]
pub struct OpenDatabase {
    /// The store. For an ldif database: its working copy.
    pub database: Database,
    /// The files of an ldif database. They are written before the store.
    pub files: Option<LdifFiles>,
    /// The lock on these files: no other process can write them.
    pub lock: Option<LdifLock>,
}

/// Opens the store of a database. Tools use this too, so a database is always opened in the same way.
pub fn database(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<OpenDatabase, OpenError> {
    if settings.kind.entries == EntryPlace::Files {
        return ldif::open(settings, schema).map_err(|error| of_ldif(settings, error));
    }
    if settings.mdb.flags.contains(EnvironmentFlags::WRITE_MAP) {
        tracing::info!(
            target: "config",
            "envflags writemap has no meaning here: the file is not written through a map, which a full disk would turn into a crash"
        );
    }
    let flags = settings.mdb.flags;
    if settings.cluster.is_some()
        && (flags.contains(EnvironmentFlags::NO_SYNC) || flags.contains(EnvironmentFlags::MAP_ASYNC))
    {
        tracing::info!(
            target: "config",
            "dbnosync has no meaning in a cluster: commits are not flushed one by one, and checkpoints keep the \
             database whole"
        );
    }
    let mut options = options(settings);
    if !options.no_read_ahead && exceeds_memory(&options) {
        tracing::info!(
            target: "config",
            "{}: more than half of the memory; read as with envflags nordahead",
            options.directory.join("data.mdb").display()
        );
        options.no_read_ahead = true;
    }
    let database = Database::open(options, Arc::clone(schema)).map_err(|source| failed(settings, source))?;
    tell_of_checkpoint(settings, &database);
    if database.reads_ahead() && !database.looks_ahead() {
        tracing::warn!(
            target: "any",
            "{}: this program's LMDB has pages that it does not know; searches are made one by one, which takes longer",
            database.options().directory.join("data.mdb").display()
        );
    }
    Ok(OpenDatabase {
        database,
        files: None,
        lock: None,
    })
}

/// Opens a database for a tool that only reads. `None`: a null database, or a file that is still empty.
///
/// # Errors
/// The database cannot be opened.
pub fn to_read(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Option<Database>, OpenError> {
    match settings.kind.entries {
        EntryPlace::Nowhere => return Ok(None),
        EntryPlace::Files => {
            let opened = ldif::open_to_read(settings, schema);
            return opened.map(Some).map_err(|error| of_ldif(settings, error));
        }
        _ => {}
    }
    let mut options = options(settings);
    options.read_only = true;
    let data = options.directory.join("data.mdb");
    if std::fs::metadata(&data).is_ok_and(|found| found.len() == 0) {
        return Ok(None);
    }
    let database = Database::open(options, Arc::clone(schema)).map_err(|source| failed(settings, source))?;
    tell_of_checkpoint(settings, &database);
    Ok(Some(database))
}

/// Says what was done with the file because of the `checkpoint.mdb` beside it.
fn tell_of_checkpoint(settings: &DatabaseConfig, database: &Database) {
    let directory = settings.directory.display();
    if database.was_taken_back() {
        tracing::warn!(
            target: "any",
            "{directory}: the machine ended before all was on the disk; the database is as at its last checkpoint, and \
             the log of the cluster has what is missing"
        );
    }
    if database.has_put_record_aside() {
        tracing::warn!(
            target: "any",
            "{directory}: checkpoint.mdb belongs to another data.mdb, is not needed, or cannot be read; data.mdb is \
             sound, and left as it is. checkpoint.mdb is now checkpoint-aside.mdb"
        );
    }
}

fn of_ldif(settings: &DatabaseConfig, error: LdifBackendError) -> OpenError {
    match error {
        LdifBackendError::Store(source) => failed(settings, source),
        LdifBackendError::Files(error) => {
            let suffix = settings.suffixes.first().map_or("", |suffix| suffix.pretty());
            SettingError::Unavailable(format!("database {suffix}: {error}")).into()
        }
    }
}

pub(crate) fn failed(settings: &DatabaseConfig, source: StoreError) -> OpenError {
    let suffix = settings.suffixes.first();
    OpenError::Store {
        suffix: suffix.map_or_else(String::new, |suffix| suffix.pretty().to_owned()),
        source,
    }
}

/// Whether the file is too large for memory beside everything else. Read-ahead would then evict pages that are needed.
fn exceeds_memory(options: &DatabaseOptions) -> bool {
    let length = std::fs::metadata(options.directory.join("data.mdb")).map_or(0, |found| found.len());
    memory_limit().is_some_and(|limit| length > limit / 2)
}

/// Slots for readers that a database has at least. LMDB has so many by default, and slapd writes 0 for that default
/// into configuration directories. The threads of this server may need more than a few, and a slot costs 64 octets.
const LEAST_READERS: u32 = 126;

/// The store's options for a database with these settings.
pub fn options(settings: &DatabaseConfig) -> DatabaseOptions {
    let mdb = &settings.mdb;
    DatabaseOptions {
        directory: settings.directory.clone(),
        suffixes: settings.suffixes.clone(),
        max_size: mdb.max_size,
        max_readers: mdb.max_readers.max(LEAST_READERS),
        mode: mdb.mode,
        // slapd calls a map that is flushed later `mapasync`. A database of a cluster has checkpoints instead, which
        // keep it whole.
        no_sync: settings.cluster.is_none()
            && (mdb.flags.contains(EnvironmentFlags::NO_SYNC) || mdb.flags.contains(EnvironmentFlags::MAP_ASYNC)),
        no_meta_sync: mdb.flags.contains(EnvironmentFlags::NO_META_SYNC),
        no_read_ahead: mdb.flags.contains(EnvironmentFlags::NO_READ_AHEAD),
        indexes: indexes(settings),
        read_only: false,
    }
}

fn indexes(settings: &DatabaseConfig) -> Vec<IndexDefinition> {
    let mut definitions: Vec<_> = settings
        .mdb
        .indexes
        .iter()
        .map(|setting| definition(&setting.attribute, setting.built()))
        .collect();
    // objectClass always has an equality index. A follower of changes looks up entries by UUID. entryCSN
    // has no index: each change of an entry would move its row to another page, which doubles the pages of a commit.
    // The log itself gives the changes since a CSN.
    let of_changes = settings.keeps_changes().then_some("entryUUID");
    for attribute in std::iter::once("objectClass").chain(of_changes) {
        match definitions
            .iter_mut()
            .find(|definition| definition.attribute.eq_ignore_ascii_case(attribute))
        {
            Some(definition) => definition.equality = true,
            None => definitions.push(definition(attribute, IndexKinds::EQUALITY)),
        }
    }
    definitions
}

/// The setting that asks for an index.
pub fn setting_of(definition: &IndexDefinition) -> IndexSetting {
    let kinds = [
        (definition.presence, IndexKinds::PRESENCE),
        (definition.equality, IndexKinds::EQUALITY),
        (definition.substring, IndexKinds::SUB_ANY),
        (definition.approximate, IndexKinds::APPROXIMATE),
        (definition.no_language, IndexKinds::NO_LANGUAGE),
        (definition.no_subtypes, IndexKinds::NO_SUBTYPES),
    ];
    let kinds = kinds.into_iter().filter(|(is_wanted, _)| *is_wanted);
    IndexSetting {
        attribute: definition.attribute.to_string(),
        kinds: kinds.fold(IndexKinds::default(), |all, (_, kind)| all.with(kind)),
    }
}

fn definition(attribute: &str, kinds: IndexKinds) -> IndexDefinition {
    let substring = [IndexKinds::SUB_INITIAL, IndexKinds::SUB_ANY, IndexKinds::SUB_FINAL];
    IndexDefinition {
        attribute: attribute.into(),
        presence: kinds.contains(IndexKinds::PRESENCE),
        equality: kinds.contains(IndexKinds::EQUALITY),
        substring: substring.iter().any(|kind| kinds.contains(*kind)),
        approximate: kinds.contains(IndexKinds::APPROXIMATE),
        no_language: kinds.contains(IndexKinds::NO_LANGUAGE),
        no_subtypes: kinds.contains(IndexKinds::NO_SUBTYPES),
    }
}
