//! Where a bulk build goes: the checks before it, the temporary directory, the renaming after it.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::{fd::AsRawFd, unix::fs::DirBuilderExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ironbark_model::Schema;

use crate::{Database, DatabaseOptions, StoreError, checkpoint, claim::Claim, staging::lock};

/// Name of the temporary directory inside the database's.
const TEMPORARY: &str = "bulk-build.tmp";
/// How often it is made again, if another process takes it for one that a killed build has left.
const ATTEMPTS: usize = 10;

/// A directory that gets a new database.
pub(super) struct Target {
    directory: PathBuf,
    temporary: PathBuf,
    /// Of the file that is to be replaced, if there is one.
    claim: Option<Claim>,
    /// Of the temporary directory. It ends with the process.
    _lock: File,
    /// Held while an open database is built for.
    turn: Option<Turn>,
}

/// The only build for an open database.
pub(super) struct Turn(Arc<AtomicBool>);

impl Turn {
    /// `None`: another build is under way.
    pub(super) fn take(is_built: &Arc<AtomicBool>) -> Option<Self> {
        let was_built = is_built.swap(true, Ordering::AcqRel);
        (!was_built).then(|| Self(Arc::clone(is_built)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Target {
    /// Checks that no data would be lost, and makes the temporary directory. Removes one that a killed build has left.
    pub(super) fn new(options: &DatabaseOptions, schema: &Arc<Schema>) -> Result<Self, StoreError> {
        let directory = options.directory.clone();
        let data = directory.join("data.mdb");
        if fs::metadata(&data).is_ok_and(|found| found.len() > 0) {
            let existing = Database::open(
                DatabaseOptions {
                    read_only: false,
                    ..options.clone()
                },
                schema.clone(),
            )?;
            if existing.snapshot()?.view().entry_count()? > 0 {
                return Err(StoreError::Format(format!(
                    "{}: the database has entries already",
                    data.display()
                )));
            }
        }
        let claim = Claim::take(&directory)?;
        // Readers would go on with the former file.
        refuse_if_in_use(&directory)?;
        Ok(Self {
            claim,
            ..Self::beside(options, None)?
        })
    }

    /// Makes the temporary directory, whatever the database holds. Removes one that a killed build has left.
    pub(super) fn beside(options: &DatabaseOptions, turn: Option<Turn>) -> Result<Self, StoreError> {
        let directory = options.directory.clone();
        let temporary = directory.join(TEMPORARY);
        let lock = make_locked(&temporary)?;
        Ok(Self {
            directory,
            temporary,
            claim: None,
            _lock: lock,
            turn,
        })
    }
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }
    /// Moves the finished file over the empty one, durably.
    pub(super) fn put_in_place(&self) -> Result<(), StoreError> {
        let (built, data) = (self.temporary.join("data.mdb"), self.directory.join("data.mdb"));
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
        sync(&built).map_err(|error| StoreError::file(&built, error))?;
        refuse_if_in_use(&self.directory)?;
        self.rename(&built, &data)?;
        sync(&self.directory).map_err(|error| StoreError::file(&self.directory, error))?;
        // It may be of a file that was moved away.
        checkpoint::put_aside(&self.directory)
    }
    /// Gives the file its name. If there was no file to claim, one that another process has made since is not replaced:
    /// it may have been written to.
    fn rename(&self, built: &Path, data: &Path) -> Result<(), StoreError> {
        let is_replacing = self.claim.is_some() || self.turn.is_some();
        if !is_replacing {
            match fs::hard_link(built, data) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(StoreError::InUse(data.to_owned()));
                }
                // The file system has no links.
                Err(_) => {}
            }
        }
        fs::rename(built, data).map_err(|error| StoreError::file(data, error))
    }

    /// Removes what the build has left.
    pub(super) fn remove_temporary(&self) {
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Makes a directory of this name and locks it. Removes one that nobody has locked.
fn make_locked(path: &Path) -> Result<File, StoreError> {
    let failed = |error| StoreError::file(path, error);
    for _ in 0..ATTEMPTS {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if let Some(_abandoned) = lock(path) {
                    fs::remove_dir_all(path).map_err(failed)?;
                }
                continue;
            }
            Err(error) => return Err(failed(error)),
        }
        if let Some(lock) = lock(path) {
            return Ok(lock);
        }
    }
    Err(StoreError::Format(format!(
        "{}: another process is building a database here, or this is no directory",
        path.display()
    )))
}

/// Refuses if a process has the environment open: LMDB then holds a lock on the first byte of `lock.mdb`.
fn refuse_if_in_use(directory: &Path) -> Result<(), StoreError> {
    let path = directory.join("lock.mdb");
    let Ok(file) = File::open(&path) else { return Ok(()) };
    let mut lock = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open during the call, and the kernel fills the structure.
    #[allow(unsafe_code, reason = "record locks are not in the standard library")]
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    if result == 0 && i32::from(lock.l_type) != libc::F_UNLCK {
        return Err(StoreError::Format(format!(
            "{}: the database is in use by process {}",
            directory.display(),
            lock.l_pid
        )));
    }
    Ok(())
}
