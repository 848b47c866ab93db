//! The right to write to a folder, which one process has at a time.
//!
//! It is a lock of the operating system on the folder itself (`flock`): it leaves no file behind and ends with the
//! process. Readers need none. The kernel tells which process has it.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use ironbark_runtime::process::in_use;

use super::FolderError;

/// The lock of a folder. Dropping it gives it up.
#[derive(Debug)]
pub struct FolderLock {
    /// `None`: the file system has no locks for folders.
    folder: Option<File>,
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A child that is being forked has the folder open too until it executes its program: closing is not enough.
        self.folder.iter().for_each(|folder| _ = folder.unlock());
    }
}

impl FolderLock {
    /// For who may write without the right.
    pub fn none() -> Self {
        Self { folder: None }
    }

    /// Locks a folder for writing.
    ///
    /// # Errors
    /// Another process, or another part of this one, has locked it; it cannot be opened.
    pub fn take(path: &Path) -> Result<Self, FolderError> {
        let folder = File::open(path).map_err(|error| FolderError::of(path, &error))?;
        match folder.try_lock() {
            Ok(()) => Ok(Self { folder: Some(folder) }),
            Err(TryLockError::WouldBlock) => Err(FolderError::new(path, in_use(path))),
            // NFS locks files alone, and some file systems lock nothing.
            Err(TryLockError::Error(error)) if has_no_locks(&error) => Ok(Self { folder: None }),
            Err(TryLockError::Error(error)) => Err(FolderError::of(path, &error)),
        }
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let without = [Errno::BADF, Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOLCK, Errno::INVAL];
    without
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn one_lock_of_a_folder_at_a_time_and_the_second_is_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        // As a fork has it: another descriptor of the same open folder.
        let of_child = lock.folder.as_ref().unwrap().try_clone().unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("in use by process {}", std::process::id())),
            "{refused}"
        );
        drop(lock);
        let _ = FolderLock::take(folder.path()).unwrap();
        drop(of_child);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing is left behind"
        );
    }
}
