//! The right to write to a folder, which one process has at a time.
//!
//! It is a lock of the operating system on the folder itself (`flock`): it leaves no file behind and ends with the
//! process. Readers need none. The kernel tells which process has it.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

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

/// Why a locked file or folder cannot be written, with the process that has it.
pub fn in_use(path: &Path) -> String {
    let by = match lock_holder(path) {
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    };
    format!("in use by {by}, which writes to it: a server, or another tool")
}

/// The process that has locked a file or folder, if the kernel shows it: one of another PID namespace it does not show.
pub fn lock_holder(path: &Path) -> Option<u32> {
    let found = fs::metadata(path).ok()?;
    holder_in(&fs::read_to_string(LOCKS).ok()?, found.ino())
}

/// The holder of the lock of an inode, in the kernel's list. Devices are not compared: some file systems show another
/// one there than in `stat`.
fn holder_in(list: &str, inode: u64) -> Option<u32> {
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // A process that waits for a lock has an arrow.
        words.next().filter(|kind| *kind == "FLOCK")?;
        let (process, file) = (words.nth(2)?, words.next()?);
        let (_, number) = file.rsplit_once(':')?;
        let is_it = number.parse() == Ok(inode);
        process.parse().ok().filter(|process| is_it && *process != 0)
    })
}

/// `<number>: FLOCK ADVISORY WRITE <process> <major>:<minor>:<inode> <start> <end>`
const LOCKS: &str = "/proc/locks";

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
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing is left behind"
        );
    }

    #[test]
    fn the_holder_is_found_in_the_list_of_the_kernel() {
        let list = "1: POSIX  ADVISORY  WRITE 11 00:1b:5 0 EOF\n\
                    2: FLOCK  ADVISORY  WRITE 12 00:1b:55 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 13 00:1b:5 0 EOF\n\
                    3: -> FLOCK  ADVISORY  WRITE 14 00:1b:5 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 0 00:1b:6 0 EOF\n";
        assert_eq!(holder_in(list, 5), Some(13));
        assert_eq!(holder_in(list, 6), None, "of another namespace");
        assert_eq!(holder_in(list, 7), None);
    }
}
