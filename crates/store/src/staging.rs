//! A place for the copy of a database while it is made: a folder beside the database's own file.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use ironbark_model::Schema;
use rustix::fs::{Mode, OFlags};

use crate::{
    Database, DatabaseOptions, StoreError,
    check::{self, CheckFindings, Extent},
    checkpoint,
};

/// A folder beside the file that its `data.mdb` will become, so that this file appears whole or not at all.
///
/// It is locked while it is in use. The next one removes the folder of a process that has ended, for whatever reason.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    /// The lock ends with the process.
    _lock: File,
}

const PREFIX: &str = ".ironbark-";
const SUFFIX: &str = ".tmp";
/// How often the folder is created again, if another process takes it for an abandoned one.
const ATTEMPTS: usize = 10;

impl Staging {
    /// Creates the folder in `parent`.
    ///
    /// # Errors
    /// It cannot be created, or not be locked.
    pub fn new(parent: &Path) -> Result<Self, StoreError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_abandoned(parent);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
        let failed = |error: io::Error| StoreError::file(&path, error);
        for _ in 0..ATTEMPTS {
            DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
            // Another process may remove it before it is locked.
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(StoreError::Format(format!("{}: cannot be locked", path.display())))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its `data.mdb`.
    pub fn file(&self) -> PathBuf {
        self.path.join("data.mdb")
    }

    /// Octets that there is room for.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn room(&self) -> Result<u64, StoreError> {
        let found = rustix::fs::statvfs(&self.path);
        let found = found.map_err(|error| StoreError::file(&self.path, error.into()))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Checks its `data.mdb` as the database that `options` describe: every page, every entry and its name. Returns the
    /// number of entries. Indexes are not checked: they can be made anew of the entries. `progress` is called with the
    /// number of entries checked so far, and that of all.
    ///
    /// # Errors
    /// The copy is not sound: the first finding.
    pub fn verify(
        &self,
        options: &DatabaseOptions,
        schema: &Arc<Schema>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<u64, StoreError> {
        sound(&check::file(&self.file())?)?;
        // A raw copy of a file that is served has its mark, and would be taken for that file after a crash.
        checkpoint::clear_mark(&self.file())?;
        let database = self.open(options, schema)?;
        let total = database.stat()?.entries;
        let report = database.check(Extent::Entries, &mut |count| progress(count, total))?;
        sound(&report.findings)?;
        Ok(report.entries)
    }

    /// Opens its `data.mdb` for reading.
    ///
    /// # Errors
    /// As of [`Database::open`].
    pub fn open(&self, options: &DatabaseOptions, schema: &Arc<Schema>) -> Result<Database, StoreError> {
        let options = DatabaseOptions {
            directory: self.path.clone(),
            read_only: true,
            ..options.clone()
        };
        Database::open(options, Arc::clone(schema))
    }

    /// Gives its database the followers of the one in `directory`, in place of those of the server that made the copy:
    /// how far they are is each server's own. Both have the same numbers for changes. If that database cannot be read,
    /// the copy has no followers: they begin with it, and hear that they may have missed changes.
    ///
    /// Neither is open.
    ///
    /// # Errors
    /// The storage failed.
    pub fn take_followers(
        &self,
        directory: &Path,
        options: &DatabaseOptions,
        schema: &Arc<Schema>,
    ) -> Result<(), StoreError> {
        let at = |directory: &Path, read_only| {
            let options = DatabaseOptions {
                directory: directory.to_owned(),
                read_only,
                ..options.clone()
            };
            Database::open(options, Arc::clone(schema))
        };
        let followers = at(directory, true).and_then(|database| database.followers());
        let followers = followers.unwrap_or_default();
        at(&self.path, false)?.replace_followers(&followers)?;
        let file = self.file();
        let synced = File::open(&file).and_then(|file| file.sync_all());
        synced.map_err(|error| StoreError::file(&file, error))
    }

    /// Gives its `data.mdb` the name `file`, durably. An existing file is not overwritten. The `checkpoint.mdb` of a
    /// former file of this name is put aside.
    ///
    /// # Errors
    /// The file exists, or the operating system refuses.
    pub fn publish(self, file: &Path) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::file(file, error);
        checkpoint::clear_mark(&self.file())?;
        fs::hard_link(self.file(), file).map_err(failed)?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        flush(directory).map_err(failed)?;
        if file.file_name().is_some_and(|name| name == "data.mdb") {
            checkpoint::put_aside(directory)?;
        }
        Ok(())
    }

    /// Makes its `data.mdb` the file of the database in `directory`, durably, in place of the one that is there. No
    /// process may have that one open for writing. Its `checkpoint.mdb`, if it was not closed, is put aside. Returns
    /// the former file: the system frees it when that is dropped, which may take a while.
    ///
    /// # Errors
    /// The operating system refuses; the former file is still there.
    pub fn replace(self, directory: &Path) -> Result<Option<File>, StoreError> {
        let file = directory.join("data.mdb");
        let failed = |error: io::Error| StoreError::file(&file, error);
        checkpoint::clear_mark(&self.file())?;
        let former = File::open(&file).ok();
        fs::rename(self.file(), &file).map_err(failed)?;
        // A process that still reads the former file keeps its lock file, too. There may be none.
        let _ = fs::remove_file(directory.join("lock.mdb"));
        flush(directory).map_err(failed)?;
        checkpoint::put_aside(directory)?;
        Ok(former)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The folder is no longer needed. If it stays, it does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn flush(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}

/// Locks a folder until the file is closed. `None`: another process has locked it, or it has gone meanwhile.
pub(crate) fn lock(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    lock.try_lock().ok()?;
    let (locked, named) = (lock.metadata().ok()?, path.symlink_metadata().ok()?);
    ((locked.dev(), locked.ino()) == (named.dev(), named.ino())).then_some(lock)
}

/// Removes the folders of processes that were killed. If one cannot be removed, it stays and does no harm.
fn remove_abandoned(parent: &Path) {
    let Ok(found) = fs::read_dir(parent) else { return };
    for path in found.filter_map(Result::ok).map(|found| found.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && lock(&path).is_some() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Returns the first finding as an error.
fn sound(findings: &CheckFindings) -> Result<(), StoreError> {
    match findings.in_short() {
        None => Ok(()),
        Some(what) => Err(StoreError::Format(format!("the copy is not sound: {what}"))),
    }
}
