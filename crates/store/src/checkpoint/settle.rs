//! What is done before a data file is opened whose last user did not close it.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use super::record::{Boot, CheckpointFile, FileId, Record};
use crate::{
    DatabaseOptions, StoreError,
    check::{
        self,
        file::{MetaPage, PageFile},
    },
};

/// Makes a data file whole that was served with checkpoints, and not closed.
///
/// If the machine has run ever since, the kernel has all that was committed. Otherwise any page written since the last
/// checkpoint may be missing on the disk, and the file is taken back to that checkpoint. Readers alone do this too, if
/// they may write to the file. Returns whether it was taken back.
///
/// # Errors
/// The file cannot be taken back: no permission, or it is a damaged copy.
pub(crate) fn settle(options: &DatabaseOptions) -> Result<bool, StoreError> {
    let Some(found) = CheckpointFile::open(&options.directory)? else {
        return Ok(false);
    };
    let is_locked = found.lock();
    if is_locked && !found.is_named() {
        // Somebody else has just done all this.
        return Ok(false);
    }
    let record = found.read()?;
    let path = options.directory.join("data.mdb");
    if !is_locked {
        // A process serves the database, or takes it back.
        let serves = record.is_some_and(|record| record.boot == Boot::UNKNOWN || record.boot.is_current());
        return if serves { Ok(false) } else { Err(in_use(&path)) };
    }
    let data = std::fs::metadata(&path).ok().filter(|found| found.len() > 0);
    // Without a record, commits were flushed.
    let (Some(record), Some(data)) = (record, data) else {
        if !options.read_only {
            found.remove()?;
        }
        return Ok(false);
    };
    let is_same = FileId::of(&data) == record.file;
    if is_same && record.boot.is_current() {
        if !options.read_only {
            let flushed = File::open(&path).and_then(|file| file.sync_data());
            flushed.map_err(|error| StoreError::file(&path, error))?;
            found.remove()?;
        }
        return Ok(false);
    }
    let _sole = sole(&options.directory)?;
    let is_taken_back = if is_same {
        write(&path, &record.meta.as_only())?;
        true
    } else {
        settle_copy(&path, &record)?
    };
    if is_taken_back || !options.read_only {
        found.remove()?;
    }
    Ok(is_taken_back)
}

/// Another file is a copy, or another database at the same place. It stays as it is if it is sound.
fn settle_copy(path: &Path, record: &Record) -> Result<bool, StoreError> {
    if check::file(path)?.is_empty() {
        return Ok(false);
    }
    let before = PageFile::open(path)?.map(|file| file.meta_pages()).transpose()?;
    write(path, &record.meta.as_only())?;
    if check::file(path)?.is_empty() {
        return Ok(true);
    }
    if let Some([Some(one), Some(two)]) = before {
        write(path, &[one, two])?;
    }
    Err(StoreError::Format(format!(
        "{}: the file is damaged, and checkpoint.mdb is not of it; put a backup in its place (ironbark restore)",
        path.display()
    )))
}

/// Writes both meta pages, durably.
fn write(path: &Path, pages: &[MetaPage; 2]) -> Result<(), StoreError> {
    let refused = |error: std::io::Error| {
        StoreError::Format(format!(
            "{}: the machine ended before all was on the disk, and the file must be taken back to its last checkpoint \
             first: {error}",
            path.display()
        ))
    };
    let file = OpenOptions::new().write(true).open(path).map_err(refused)?;
    for (number, page) in (0..).zip(pages) {
        let place = number * page.page_size();
        file.write_all_at(page.bytes(), place).map_err(refused)?;
    }
    file.sync_data().map_err(refused)
}

/// Keeps other processes from opening the file with LMDB, which holds a lock for each that has it open. A reader from
/// before would see pages that are used again.
fn sole(directory: &Path) -> Result<Option<File>, StoreError> {
    let path = directory.join("lock.mdb");
    let lock = match OpenOptions::new().read(true).write(true).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| StoreError::file(&path, error))?,
    };
    match rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(_) => Err(StoreError::Format(format!(
            "{}: another process reads the database, which must be taken back to its last checkpoint first; end it",
            directory.join("data.mdb").display()
        ))),
    }
}

fn in_use(path: &Path) -> StoreError {
    StoreError::Format(format!(
        "{}: another process takes the file back to its last checkpoint, or another machine uses it; try again",
        path.display()
    ))
}
