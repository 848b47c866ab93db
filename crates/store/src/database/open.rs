//! Opening an environment: files, flags, format check, registration of indexes.

use std::{
    fs::OpenOptions,
    io::Read as _,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use heed::{CommitOrAbort, EnvFlags, EnvOpenOptions, types::Bytes};
use ironbark_model::{Dn, Schema};

use super::{Common, Database};
use crate::{
    EnvironmentNumber, StoreError, ahead,
    catalog::{Catalog, Parts, Undefined, index},
    check,
    checkpoint::{self, Checkpoints},
    claim::Claim,
    ground::Ground,
    hash::{self, MemberHash},
    numbering::{Numbering, PublishedNumbering},
    options::DatabaseOptions,
    sets::SharedSets,
    spare,
    tables::{
        Environment, FORMAT_VERSION, LOG_VERSION, MetaRow, SEALED_VERSION, TABLE_COUNT, Tables, UNRELEASED_VERSION,
    },
    write::WriteTransaction,
};

/// Address space that is reserved without `maxsize`.
const RESERVE: u64 = 1 << 40;
/// LMDB's page size is the system's; map sizes are rounded up to this multiple of both usual page sizes.
const ROUNDING: u64 = 65_536;

/// Bytes of LMDB's lock file for each reader, and bytes before the first. LMDB makes room for more readers in a longer
/// file.
const READER_SLOT: usize = 64;
const LOCK_HEADER: usize = 128;

/// Closing takes no longer than unmapping a file.
const CLOSING_TIME: Duration = Duration::from_secs(10);

static NEXT_ENVIRONMENT: AtomicU64 = AtomicU64::new(1);

/// See [`Database::open`].
pub(super) fn open(
    options: DatabaseOptions,
    schema: Arc<Schema>,
    member_hash: Option<MemberHash>,
) -> Result<Database, StoreError> {
    let settled = checkpoint::settle(&options)?;
    prepare_files(&options)?;
    let claim = if options.read_only {
        None
    } else {
        claim(&options.directory)?
    };
    check::refuse_truncated(&options.directory.join("data.mdb"))?;
    let env = open_environment(&options)?;
    check::refuse_foreign_lock(&env, &options.directory)?;
    env.clear_stale_readers()?;
    refuse_foreign_file(&env, &options.directory)?;
    let mut tables = if options.read_only {
        Tables::open(&env)?.ok_or_else(|| {
            StoreError::Format(format!(
                "{}: there is no database here yet",
                options.directory.display()
            ))
        })?
    } else {
        Tables::create(&env)?
    };
    let version = check_format(&env, &tables, &options, member_hash)?;
    tables.sealed = has_checksums(&env, &tables, version)?;
    tables.member_hash = member_hash_of(&env, &tables)?;
    if !options.read_only {
        let mut txn = env.write_txn()?;
        if index::register(&mut txn, &tables, &schema, &options.indexes)? {
            txn.commit()?;
        }
    }
    let common = Common {
        _claim: claim,
        file: file_of(&options)?,
        writer: Mutex::default(),
        map: if options.no_read_ahead {
            None
        } else {
            ahead::map_of(&env, &tables)?
        },
        environment: EnvironmentNumber(NEXT_ENVIRONMENT.fetch_add(1, Ordering::Relaxed)),
        index_work: AtomicBool::new(true),
        is_built: Arc::default(),
        tombstones_seen: Mutex::default(),
        last_row: Mutex::default(),
        bucket_sums: Mutex::default(),
        checkpoints: Arc::new(Checkpoints::of(&env, &options, settled)),
        env,
        tables,
        options,
    };
    let suffixes = common.options.suffixes.clone();
    let database = Database::of(Arc::new(common), schema, suffixes)?;
    if version < u64::from(FORMAT_VERSION) && !database.ground.options.read_only {
        upgrade(&database)?;
    }
    Ok(database)
}

/// Claims the data file. If this process is about to close it, waits for that.
fn claim(directory: &Path) -> Result<Option<Claim>, StoreError> {
    match Claim::take(directory) {
        Err(StoreError::InUse(_)) => {
            wait_until_closed(directory)?;
            Claim::take(directory)
        }
        taken => taken,
    }
}

/// Whether rows of a file bear checksums.
fn has_checksums(env: &Environment, tables: &Tables, version: u64) -> Result<bool, StoreError> {
    if version < u64::from(LOG_VERSION) {
        return Ok(version >= u64::from(SEALED_VERSION));
    }
    let txn = env.read_txn()?;
    Ok(tables.number(&txn, MetaRow::Checksums)? != 0)
}

/// How the file's values of external sets are found.
fn member_hash_of(env: &Environment, tables: &Tables) -> Result<MemberHash, StoreError> {
    let txn = env.read_txn()?;
    let key = tables.meta(&txn, MetaRow::HashKey)?.map(<[u8; hash::KEY]>::try_from);
    let key = key
        .transpose()
        .map_err(|_| StoreError::damaged("the hash key in `meta`"))?;
    Ok(MemberHash::new(key))
}

/// Upgrades a file of an older format, in one transaction. Its new tables are there already.
fn upgrade(database: &Database) -> Result<(), StoreError> {
    let mut write = WriteTransaction::begin(database)?;
    let tables = &database.ground.tables;
    write.count_shared_keys()?;
    tables.put_number(&mut write.txn, MetaRow::Checksums, u64::from(tables.sealed))?;
    tables.put_number(&mut write.txn, MetaRow::Format, u64::from(FORMAT_VERSION))?;
    write.commit()
}

/// Device and inode of `data.mdb`. They tell whether the path still leads to the open file.
pub(super) fn file_of(options: &DatabaseOptions) -> Result<(u64, u64), StoreError> {
    let path = options.directory.join("data.mdb");
    let found = std::fs::metadata(&path).map_err(|error| StoreError::file(&path, error))?;
    Ok((found.dev(), found.ino()))
}

impl Database {
    /// A database of an open environment.
    pub(super) fn of(common: Arc<Common>, schema: Arc<Schema>, suffixes: Vec<Dn>) -> Result<Self, StoreError> {
        let txn = common.env.read_txn()?;
        let mut sets = SharedSets::default();
        sets.load(&txn, &common.tables)?;
        // No snapshot of it is older than this transaction.
        let parts = Parts {
            version: 0,
            ..Parts::load(&txn, &common.tables, &[])?
        };
        let catalog = Catalog::build(schema, parts, Undefined::Refused)?;
        let numbering = Numbering::new(Arc::new(catalog), Arc::new(sets), txn.id());
        drop(txn);
        Ok(Self {
            env: common.env.clone(),
            ground: Ground {
                tables: common.tables,
                options: DatabaseOptions {
                    suffixes,
                    ..common.options.clone()
                },
                environment: common.environment,
            },
            common,
            numbering: PublishedNumbering::new(numbering),
            watched: ArcSwapOption::empty(),
        })
    }
}

/// Makes missing files with the wanted mode; LMDB would make them 0600.
fn prepare_files(options: &DatabaseOptions) -> Result<(), StoreError> {
    let data = options.directory.join("data.mdb");
    if options.read_only {
        let found = std::fs::metadata(&data).map_err(|error| StoreError::file(&data, error))?;
        if found.len() == 0 {
            return Err(StoreError::Format(format!("{}: empty file", data.display())));
        }
        return Ok(());
    }
    make_file(&data, options.mode, 0)?;
    // LMDB writes to it through a map. A full disk would end the process there instead of refusing the write.
    let slots = usize::try_from(options.max_readers).unwrap_or(usize::MAX).max(1);
    let room = slots.saturating_mul(READER_SLOT).saturating_add(LOCK_HEADER);
    make_file(&options.directory.join("lock.mdb"), options.mode, room)
}

/// Makes a file of zeros, unless it is there.
fn make_file(path: &Path, mode: u32, length: usize) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    let written = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => Err(error),
        Ok(file) => std::io::copy(&mut std::io::repeat(0).take(length as u64), &mut &file).map(drop),
    };
    written.map_err(|error| {
        // The next attempt must find a file with room for all slots.
        let _ = std::fs::remove_file(path);
        StoreError::file(path, error)
    })
}

fn open_environment(options: &DatabaseOptions) -> Result<Environment, StoreError> {
    let mut flags = EnvFlags::empty();
    let wanted = [
        (options.read_only, EnvFlags::READ_ONLY),
        (options.no_sync, EnvFlags::NO_SYNC),
        (options.no_meta_sync, EnvFlags::NO_META_SYNC),
        (options.no_read_ahead, EnvFlags::NO_READ_AHEAD),
    ];
    for (_, flag) in wanted.into_iter().filter(|(on, _)| *on) {
        flags |= flag;
    }
    let mut size = options
        .max_size
        .unwrap_or_else(reserve)
        .max(1 << 20)
        .next_multiple_of(ROUNDING);
    loop {
        let mut env = EnvOpenOptions::new().read_txn_without_tls();
        env.map_size(usize::try_from(size).unwrap_or(usize::MAX & !0xffff))
            .max_readers(options.max_readers.max(1))
            .max_dbs(TABLE_COUNT);
        // SAFETY: the flags are LMDB's durability and map options; NO_LOCK is not among them, and heed refuses a second
        // environment on the same path in this process. The file is changed by LMDB alone, as its documentation demands
        // of operators too.
        #[allow(unsafe_code, reason = "a memory map of a file")]
        let opened = unsafe {
            env.flags(flags);
            env.open(&options.directory)
        };
        match opened {
            Ok(env) => return Ok(env),
            // Address space is limited (`ulimit -v`, containers): take what is available as the ceiling.
            Err(heed::Error::Io(error))
                if error.kind() == std::io::ErrorKind::OutOfMemory && options.max_size.is_none() && size > 1 << 30 =>
            {
                size = (size / 4).next_multiple_of(ROUNDING);
            }
            Err(heed::Error::Io(error)) => return Err(StoreError::file(&options.directory, error)),
            Err(heed::Error::EnvAlreadyOpened) => wait_until_closed(&options.directory)?,
            // Its file, or the lock file of a program that has it open.
            Err(heed::Error::Mdb(heed::MdbError::VersionMismatch)) => return Err(foreign_file(&options.directory)),
            Err(heed::Error::Mdb(error)) => {
                let path = options.directory.join("data.mdb");
                return Err(StoreError::Format(format!("{}: {error}", path.display())));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The address space that is reserved without `maxsize`. If address space is limited, this is half of what is left,
/// because everything else needs some too. A longer file is still mapped whole.
fn reserve() -> u64 {
    spare::address_space_left().map_or(RESERVE, |left| (left / 2).min(RESERVE))
}

/// Opens an environment for reading, without a look at its tables.
pub(crate) fn open_to_look_at(options: &DatabaseOptions) -> Result<Environment, StoreError> {
    let options = DatabaseOptions {
        read_only: true,
        ..options.clone()
    };
    checkpoint::settle(&options)?;
    prepare_files(&options)?;
    let env = open_environment(&options)?;
    check::refuse_foreign_lock(&env, &options.directory)?;
    env.clear_stale_readers()?;
    Ok(env)
}

/// Waits while the last user of this directory closes its environment.
fn wait_until_closed(directory: &Path) -> Result<(), StoreError> {
    let path = directory
        .canonicalize()
        .map_err(|error| StoreError::file(directory, error))?;
    match heed::env_closing_event(&path) {
        Some(closing) if !closing.wait_timeout(CLOSING_TIME) => {
            let path = directory.display();
            Err(StoreError::Format(format!("{path}: is already in use in this process")))
        }
        _ => Ok(()),
    }
}

/// A file with tables that are not ours belongs to OpenLDAP's back-mdb or another program: nothing is written to it.
fn refuse_foreign_file(env: &Environment, directory: &Path) -> Result<(), StoreError> {
    let txn = env.read_txn()?;
    let main = env.open_databases_and_commit(txn, |opener, txn| {
        let main = opener.open_database::<Bytes, Bytes>(txn, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(main))
    })?;
    let Some(Some(main)) = main.commit() else { return Ok(()) };
    let txn = env.read_txn()?;
    if main.is_empty(&txn)? || main.get(&txn, b"meta")?.is_some() {
        return Ok(());
    }
    Err(foreign_file(directory))
}

fn foreign_file(directory: &Path) -> StoreError {
    StoreError::Format(format!(
        "{}: another program made this LMDB file (perhaps OpenLDAP); export it with that program's slapcat and load \
         the LDIF with slapadd into an empty directory",
        directory.join("data.mdb").display()
    ))
}

/// The version of the file's format. Refuses newer formats; marks a new file.
fn check_format(
    env: &Environment,
    tables: &Tables,
    options: &DatabaseOptions,
    member_hash: Option<MemberHash>,
) -> Result<u64, StoreError> {
    let txn = env.read_txn()?;
    let version = tables.number(&txn, MetaRow::Format)?;
    drop(txn);
    let path = options.directory.join("data.mdb");
    if version > u64::from(FORMAT_VERSION) {
        return Err(StoreError::Format(format!(
            "{}: format version {version} is newer than {FORMAT_VERSION}, the newest that this program knows",
            path.display()
        )));
    }
    if version == u64::from(UNRELEASED_VERSION) {
        return Err(StoreError::Format(format!(
            "{}: format version {version} is that of an unreleased build; dump it with that build's slapcat and load it anew",
            path.display()
        )));
    }
    if version != 0 {
        return Ok(version);
    }
    if options.read_only {
        return Err(StoreError::Format(format!(
            "{}: there is no database here yet",
            path.display()
        )));
    }
    let mut txn = env.write_txn()?;
    mark_new(&mut txn, tables, member_hash)?;
    txn.commit()?;
    Ok(u64::from(FORMAT_VERSION))
}

/// Writes the rows that every file has.
fn mark_new(txn: &mut heed::RwTxn<'_>, tables: &Tables, member_hash: Option<MemberHash>) -> Result<(), StoreError> {
    let (mut identifier, mut key) = ([0u8; 16], [0u8; hash::KEY]);
    for bytes in [&mut identifier, &mut key] {
        getrandom::fill(bytes).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
    }
    if let Some(key) = member_hash.unwrap_or_else(|| MemberHash::new(Some(key))).key() {
        tables.put_meta(txn, MetaRow::HashKey, &key)?;
    }
    tables.put_number(txn, MetaRow::Format, u64::from(FORMAT_VERSION))?;
    tables.put_number(txn, MetaRow::Checksums, 1)?;
    tables.put_number(txn, MetaRow::NextEntry, 1)?;
    tables.put_meta(txn, MetaRow::Identifier, &identifier)
}
