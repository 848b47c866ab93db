//! Opening a database as its settings ask.

use std::sync::Arc;

use ironbark_config::{DatabaseConfig, DatabaseKind, EnvironmentFlags, IndexKinds};
use ironbark_model::Schema;
use ironbark_runtime::process::memory_limit;
use ironbark_store::{Database, DatabaseOptions, IndexDefinition, StoreError};

use super::ldif::{self, LdifError, LdifFiles, LdifLock};
use crate::OpenError;

/// A database that may be written.
#[derive(Debug)]
pub struct OpenDatabase {
    /// The store; of an ldif database its working copy.
    pub database: Database,
    /// The files of an ldif database, which are written before the store.
    pub files: Option<LdifFiles>,
    /// Keeps others from writing them.
    pub lock: Option<LdifLock>,
}

/// Opens the store of a database. Tools use it too, so that a database is opened in one way only.
pub fn database(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<OpenDatabase, OpenError> {
    if settings.kind == DatabaseKind::Ldif {
        return ldif::open(settings, schema).map_err(|error| of_ldif(settings, error));
    }
    if settings.mdb.flags.contains(EnvironmentFlags::WRITE_MAP) {
        tracing::info!(
            target: "config",
            "envflags writemap has no meaning here: the file is not written through a map, which a full disk would turn into a crash"
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
    Ok(OpenDatabase {
        database,
        files: None,
        lock: None,
    })
}

/// Opens a database for a tool that only reads; `None`: there is nothing, or none has been made yet.
///
/// # Errors
/// It cannot be opened.
pub fn to_read(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Option<Database>, OpenError> {
    match settings.kind {
        DatabaseKind::Null => return Ok(None),
        DatabaseKind::Ldif => {
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
    let opened = Database::open(options, Arc::clone(schema));
    opened.map(Some).map_err(|source| failed(settings, source))
}

fn of_ldif(settings: &DatabaseConfig, error: LdifError) -> OpenError {
    match error {
        LdifError::Store(source) => failed(settings, source),
        LdifError::Files(error) => {
            let suffix = settings.suffixes.first().map_or("", |suffix| suffix.pretty());
            OpenError::Configuration(format!("database {suffix}: {error}"))
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

/// Whether the file does not fit into memory with all else that is there. What is read beside what was asked for would
/// drive out what is needed.
fn exceeds_memory(options: &DatabaseOptions) -> bool {
    let length = std::fs::metadata(options.directory.join("data.mdb")).map_or(0, |found| found.len());
    memory_limit().is_some_and(|limit| length > limit / 2)
}

/// What the store is told of a database's settings.
pub fn options(settings: &DatabaseConfig) -> DatabaseOptions {
    let mdb = &settings.mdb;
    DatabaseOptions {
        directory: settings.directory.clone(),
        suffixes: settings.suffixes.clone(),
        max_size: mdb.max_size,
        max_readers: mdb.max_readers,
        mode: mdb.mode,
        // A map that is flushed later is what slapd calls `mapasync`.
        no_sync: mdb.flags.contains(EnvironmentFlags::NO_SYNC) || mdb.flags.contains(EnvironmentFlags::MAP_ASYNC),
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
        .map(|setting| definition(&setting.attribute, setting.kinds))
        .collect();
    // As in slapd, objectClass always has an equality index. Who is fed with changes asks for entries by UUID. There is
    // none for entryCSN: each change of an entry moves its row to another page, which doubles the pages of a commit,
    // and the log itself tells what has changed since a CSN.
    let of_changes = settings.mdb.keeps_changes().then_some("entryUUID");
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
