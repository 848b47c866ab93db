//! `ironbark backup`: copies a database while the server runs. The copy is verified before it gets its final name.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use clap::Args;
use ironbark_config::{DatabaseConfig, database::EntryPlace};
use ironbark_directory::open;
use ironbark_store::{
    Database, StoreError,
    check::{self, Extent, Findings},
};
use rustix::fs::{Mode, OFlags};

use crate::shared::{chosen::Chosen, open::open_to_read, progress::Progress, target::Target};

/// Options of `ironbark backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    target: Target,
    /// Leave free pages out; takes longer
    #[arg(long)]
    compact: bool,
    /// A directory, which gets data.mdb, or the file to create; must not exist
    destination: PathBuf,
}

impl Backup {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let settings = backed_up(&chosen)?;
        let data = settings.directory.join("data.mdb");
        // With this option LMDB follows the pages and trusts them.
        if self.compact && data.metadata().is_ok_and(|found| found.len() > 0) {
            let found = check::file_in_use(&open::options(settings)).map_err(|error| error.to_string())?;
            sound("the database", &found)?;
        }
        let Some(database) = open_to_read(settings, &chosen, "ironbark")? else {
            return Err("the database is empty".to_owned());
        };
        let file = if self.destination.is_dir() {
            self.destination.join("data.mdb")
        } else {
            self.destination.clone()
        };
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let staging = Staging::new(parent, &file)?;
        database
            .copy_to(staging.path(), self.compact)
            .map_err(|error| error.to_string())?;
        let entries = verify(staging.path(), settings, &chosen)?;
        staging.publish(&file)?;
        println!("{}: {entries} entries, verified", file.display());
        Ok(())
    }
}

/// The chosen database, if it has a file to back up.
pub(super) fn backed_up(chosen: &Chosen) -> Result<&DatabaseConfig, String> {
    let (_, settings) = chosen.databases().next().ok_or("no database")?;
    match settings.kind.entries {
        EntryPlace::Store => Ok(settings),
        EntryPlace::Files => Err("the files of an ldif database are their own backup: copy the directory".to_owned()),
        _ => Err(format!("database {} has no files", settings.kind.name)),
    }
}

/// A directory beside the destination file, so that the file appears whole or not at all. It is locked while it is in
/// use. The next backup or restore removes the directory of a process that has ended, for whatever reason.
pub(super) struct Staging {
    path: PathBuf,
    /// The lock ends with the process.
    _lock: File,
}

const PREFIX: &str = ".ironbark-";
const SUFFIX: &str = ".tmp";
/// How often the directory is created again, if another run takes it for an abandoned one.
const ATTEMPTS: usize = 10;

impl Staging {
    /// Creates the directory in `parent`, for `file`.
    ///
    /// # Errors
    /// The file exists.
    pub(super) fn new(parent: &Path, file: &Path) -> Result<Self, String> {
        if file.symlink_metadata().is_ok() {
            return Err(format!("{}: exists", file.display()));
        }
        remove_abandoned(parent);
        let path = parent.join(format!("{PREFIX}{}{SUFFIX}", std::process::id()));
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        for _ in 0..ATTEMPTS {
            DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
            // Another run may remove it before it is locked.
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(format!("{}: cannot be locked", path.display()))
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the verified `data.mdb` its final name, durably. An existing file is not overwritten.
    pub(super) fn publish(self, file: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        fs::hard_link(self.path.join("data.mdb"), file).map_err(failed)?;
        let parent = self.path.parent().unwrap_or(Path::new("."));
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The directory is no longer needed. If it stays, it does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory. `None`: another process has locked it, or it has gone meanwhile.
fn lock(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    lock.try_lock().ok()?;
    let (locked, named) = (lock.metadata().ok()?, path.symlink_metadata().ok()?);
    ((locked.dev(), locked.ino()) == (named.dev(), named.ino())).then_some(lock)
}

/// Removes the directories of runs that were killed. If one cannot be removed, it stays and does no harm.
fn remove_abandoned(parent: &Path) {
    let Ok(found) = fs::read_dir(parent) else { return };
    for path in found.filter_map(Result::ok).map(|found| found.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && lock(&path).is_some() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Checks the copy in `directory`: every page, every entry and its name. Returns the number of entries. Indexes are not
/// checked: slapindex can rebuild them from the entries.
pub(super) fn verify(directory: &Path, settings: &DatabaseConfig, chosen: &Chosen) -> Result<u64, String> {
    let mut options = open::options(settings);
    directory.clone_into(&mut options.directory);
    options.read_only = true;
    let unsound = |error: StoreError| format!("the copy is not sound: {error}");
    sound("the copy", &check::file(&directory.join("data.mdb")).map_err(unsound)?)?;
    let database = Database::open(options, chosen.schema().clone()).map_err(unsound)?;
    let total = database.stat().map_err(unsound)?.entries;
    let progress = Progress::entries(Some(total));
    let report = database.check(Extent::Entries, &mut |count| progress.set(count));
    let report = report.map_err(unsound)?;
    sound("the copy", &report.findings)?;
    Ok(report.entries)
}

/// Returns the first finding as an error.
fn sound(what: &str, findings: &Findings) -> Result<(), String> {
    match findings.texts().first() {
        None => Ok(()),
        Some(first) if findings.count() == 1 => Err(format!("{what} is not sound: {first}")),
        Some(first) => {
            let more = findings.count() - 1;
            Err(format!("{what} is not sound: {first}; and {more} more"))
        }
    }
}
