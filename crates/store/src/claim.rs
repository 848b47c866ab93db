//! The right to write to a data file, which one process has at a time and keeps while the file is open.
//!
//! It is a lock of the operating system on `data.mdb` (`flock`), so it ends with the process. Readers need none. LMDB's
//! own lock lets processes write in turns; but what a server remembers of a database is only right while nobody else
//! changes it, and a stopped process would hold up its writers.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

use crate::StoreError;

/// The claim. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct Claim {
    lock: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A child that is being forked has the file open too until it executes its program: closing is not enough.
        let _ = self.lock.unlock();
    }
}

/// How often a file is opened again that was replaced before it was locked.
const ATTEMPTS: usize = 10;

impl Claim {
    /// Claims the data file in a directory. `None`: there is no file.
    ///
    /// # Errors
    /// [`StoreError::InUse`]: another process, or another part of this one, has claimed it.
    pub(crate) fn take(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join("data.mdb");
        let failed = |error| StoreError::file(&path, error);
        for _ in 0..ATTEMPTS {
            let lock = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(failed)?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(path)),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // A bulk build or a renewal may have put another file in its place meanwhile.
            let (own, named) = (lock.metadata().map_err(failed)?, std::fs::metadata(&path));
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (own.dev(), own.ino())) {
                return Ok(Some(Self { lock }));
            }
        }
        Err(StoreError::InUse(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_ends_even_while_a_child_that_is_being_forked_has_its_file_open() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data.mdb"), []).unwrap();
        let claim = Claim::take(folder.path()).unwrap().unwrap();
        // As a fork has it: another descriptor of the same open file.
        let of_child = claim.lock.try_clone().unwrap();
        assert!(matches!(Claim::take(folder.path()), Err(StoreError::InUse(_))));
        drop(claim);
        assert!(Claim::take(folder.path()).unwrap().is_some());
        drop(of_child);
    }
}
