//! What is done before a data file is opened beside which there is a `checkpoint.mdb`.
//!
//! A file is written to only if it is proven to be a later state of the checkpoint (`identity.rs`). A file whose
//! machine ended while it was served (`mark.rs`) is opened in no other way. Every other file is opened as it is if it
//! is sound, and refused if it is not.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    path::Path,
};

use super::{
    boot::Boot,
    file::{ASIDE, CheckpointFile, Noted, UNDO},
    mark::{self, ServingMark},
    record::{FileId, Record},
    steps::{Step, reached},
    take_back::take_back,
};
use crate::{
    DatabaseOptions, StoreError,
    check::{
        self,
        commit::{check_commit, check_roots},
        file::PageFile,
    },
};

/// What was done with a data file before it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// Nothing was to be done.
    AsItWas,
    /// It was taken back to its last checkpoint.
    TakenBack,
    /// It is sound, and the record was not needed, cannot be read, or is of another file: it has another name now.
    PutAside,
}

/// What is to be done with a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    AsItIs,
    TakeBack,
}

/// Makes a data file whole that was served with checkpoints, and not closed.
///
/// If the machine has run ever since, the kernel has all that was committed. Otherwise any page written since the last
/// checkpoint may be missing on the disk, and the file is taken back to that checkpoint. Readers alone do this too, if
/// they may write to the file; a record that is not needed they leave where it is.
///
/// # Errors
/// The file cannot be taken back: no permission, another process reads it, it is damaged, or the record is missing.
pub(crate) fn settle(options: &DatabaseOptions) -> Result<Settled, StoreError> {
    let Some(found) = CheckpointFile::open(&options.directory)? else {
        return without_record(options).map(|()| Settled::AsItWas);
    };
    let is_locked = found.lock();
    if is_locked && !found.is_named() {
        // Another process has just done all this.
        return Ok(Settled::AsItWas);
    }
    let noted = found.read()?;
    let path = options.directory.join("data.mdb");
    if !is_locked {
        // A process serves the database, is about to, or takes it back.
        let is_served = match noted {
            Noted::Last(record) => record.boot == Boot::UNKNOWN || record.boot.is_current(),
            Noted::Nothing => true,
            Noted::Garbage => false,
        };
        return if is_served {
            Ok(Settled::AsItWas)
        } else {
            Err(in_use(&path))
        };
    }
    let data = std::fs::metadata(&path).ok().filter(|found| found.len() > 0);
    match (noted, data) {
        (Noted::Nothing, _) => {
            refuse_separated(&path)?;
            if !options.read_only {
                clear_mark(options)?;
                found.remove()?;
            }
            Ok(Settled::AsItWas)
        }
        // The file may have been moved away, and may come back.
        (_, None) => put_aside(options, found),
        (Noted::Garbage, Some(_)) => {
            refuse_separated(&path)?;
            as_it_is_if_sound(&path)?;
            put_aside(options, found)
        }
        (Noted::Last(record), Some(data)) => of_record(options, found, &record, &data),
    }
}

fn of_record(
    options: &DatabaseOptions,
    found: CheckpointFile,
    record: &Record,
    data: &Metadata,
) -> Result<Settled, StoreError> {
    let path = options.directory.join("data.mdb");
    let file = PageFile::open_as(&path, &record.meta)?;
    let mark = ServingMark::of(&file)?;
    let is_same_inode = FileId::of(data) == record.file;
    if is_same_inode && record.boot.is_current() && !is_struck(mark) {
        if !options.read_only {
            file.flush()?;
            clear_mark(options)?;
            found.remove()?;
        }
        return Ok(Settled::AsItWas);
    }
    let is_proven =
        mark.is_some_and(|mark| record.is_held_by(&mark)) && record.content.is_before(&file, &record.meta)?;
    if !is_proven {
        refuse_separated(&path)?;
        as_it_is_if_sound(&path)?;
        return put_aside(options, found);
    }
    if judge(&path, &file, record, is_same_inode)? == Verdict::AsItIs {
        return put_aside(options, found);
    }
    let _sole = sole(&options.directory)?;
    take_back(&found, &path, record)?;
    clear_mark(options)?;
    reached(Step::Unmarked);
    found.rename(UNDO)?;
    reached(Step::Renamed);
    Ok(Settled::TakenBack)
}

/// Decides about a proven file that this kernel has not served, or that has another inode than the one that was served.
fn judge(path: &Path, file: &PageFile, record: &Record, is_same_inode: bool) -> Result<Verdict, StoreError> {
    if record.boot.is_current() && check::file(path)?.is_empty() {
        // A copy of a file of which the kernel had all pages.
        return Ok(Verdict::AsItIs);
    }
    // That the file looks sound says nothing here: in the place of a missing page there may be an older one.
    let findings = if is_same_inode {
        // The pages of the checkpoint were on the disk before the record was, and were not written to since. Reading
        // all of them would take minutes in a large database.
        check_roots(file, record.meta.meta())?
    } else {
        check_commit(file, record.meta.meta())?
    };
    match findings.in_short() {
        None => Ok(Verdict::TakeBack),
        Some(what) => {
            let why = format!(
                "the machine ended before all was on the disk, and the last checkpoint is damaged ({what}); put a \
                 backup in its place (ironbark restore)"
            );
            Err(refused(path, &why))
        }
    }
}

/// Whether the machine ended while a file with this mark was served, so that pages of it may be missing.
fn is_struck(mark: Option<ServingMark>) -> bool {
    mark.is_some_and(|mark| !mark.boot.is_current())
}

/// Refuses a file of which pages may be missing, and beside which there is no record that proves which it has.
fn refuse_separated(path: &Path) -> Result<(), StoreError> {
    if !path.exists() || !is_struck(ServingMark::at(path)?) {
        return Ok(());
    }
    let why = "the machine ended while the file was served, or the file was copied from a server that was, and the \
               checkpoint.mdb that tells what is whole in it is missing, damaged or of another file; put that one back \
               (it may be named checkpoint-undo.mdb or checkpoint-aside.mdb by now), or move data.mdb away and put a \
               backup in its place (ironbark restore, which also takes this file if it is known to be whole)";
    Err(refused(path, why))
}

/// The record is not of this file.
fn as_it_is_if_sound(path: &Path) -> Result<(), StoreError> {
    let Some(what) = check::file(path)?.in_short() else {
        return Ok(());
    };
    let why = format!(
        "the file is damaged ({what}), and checkpoint.mdb cannot be read or is not of it; put a backup in its place \
         (ironbark restore)"
    );
    Err(refused(path, &why))
}

/// Gives the record another name, unless the caller only reads.
fn put_aside(options: &DatabaseOptions, found: CheckpointFile) -> Result<Settled, StoreError> {
    if options.read_only {
        return Ok(Settled::AsItWas);
    }
    clear_mark(options)?;
    found.rename(ASIDE)?;
    Ok(Settled::PutAside)
}

/// Removes the mark of the data file, if there is one. The caller has `checkpoint.mdb` locked, so no other process can
/// write a new mark.
fn clear_mark(options: &DatabaseOptions) -> Result<(), StoreError> {
    let path = options.directory.join("data.mdb");
    if path.exists() { mark::clear(&path) } else { Ok(()) }
}

/// A raw copy of a file that was served has its mark. It must lose it before it is written to: a record that somebody
/// puts back would fit a file that has gone on.
fn without_record(options: &DatabaseOptions) -> Result<(), StoreError> {
    let path = options.directory.join("data.mdb");
    refuse_separated(&path)?;
    if options.read_only || !path.exists() || ServingMark::at(&path)?.is_none() {
        return Ok(());
    }
    // Otherwise another process is about to serve the file, with a mark of its own, or the directory cannot be written
    // to, and has no record to be put back.
    if let Ok(turn) = CheckpointFile::create(&options.directory, options.mode) {
        clear_mark(options)?;
        turn.remove()?;
    }
    Ok(())
}

/// Keeps other processes from opening the file with LMDB, which holds a lock for each that has it open. A reader from
/// before would see pages that are used again.
fn sole(directory: &Path) -> Result<Option<File>, StoreError> {
    let path = directory.join("lock.mdb");
    let lock = match OpenOptions::new().read(true).write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| StoreError::file(&path, error))?,
    };
    match rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(_) => Err(refused(
            &directory.join("data.mdb"),
            "another process reads the database, which must be taken back to its last checkpoint first; end it",
        )),
    }
}

fn in_use(path: &Path) -> StoreError {
    refused(
        path,
        "another process takes the file back to its last checkpoint, or another machine uses it; try again",
    )
}

fn refused(path: &Path, why: &str) -> StoreError {
    StoreError::Format(format!("{}: {why}", path.display()))
}
