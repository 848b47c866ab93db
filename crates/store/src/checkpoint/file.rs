//! The file `checkpoint.mdb` on the disk: made, locked, read, and put away.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::record::{BYTES, FORMER_BYTES, FormerPages, Record, is_of_newer_version};
use crate::StoreError;

/// Its name after the data file was taken back. The program does not read it: it is there for whoever wants to know
/// what the file was before.
pub(super) const UNDO: &str = "checkpoint-undo.mdb";
/// Its name after another data file was found beside it. It is kept: the data file to which it belongs may be elsewhere
/// and be put back.
pub(super) const ASIDE: &str = "checkpoint-aside.mdb";

const NAME: &str = "checkpoint.mdb";
/// Bytes from one record to the other: no write to the disk concerns both.
const APART: u64 = 4_096;
/// Where the former meta pages are.
const FORMER_AT: u64 = 2 * APART;

/// What a file says.
#[derive(Debug)]
pub(super) enum Noted {
    /// Nothing yet: commits were still flushed.
    Nothing,
    /// What no version of the program has written, or one that did not write what a record needs to prove itself.
    Garbage,
    Last(Box<Record>),
}

/// The file beside a data file. The process that serves the database has it locked.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    file: File,
    path: PathBuf,
}

impl Drop for CheckpointFile {
    fn drop(&mut self) {
        // A child that is being forked has the file open too: closing is not enough.
        let _ = self.file.unlock();
    }
}

impl CheckpointFile {
    /// Makes it, without a record.
    ///
    /// # Errors
    /// It is there: another process serves the database.
    pub(super) fn create(directory: &Path, mode: u32) -> Result<Self, StoreError> {
        let path = directory.join(NAME);
        let failed = |error| StoreError::file(&path, error);
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create_new(true).mode(mode).open(&path);
        let new = Self {
            file: opened.map_err(failed)?,
            path: path.clone(),
        };
        let written = new
            .file
            .try_lock()
            .map_err(io::Error::from)
            // The room for all that is written later is there from now on.
            .and_then(|()| new.file.write_all_at(&[0; BYTES], 0))
            .and_then(|()| new.file.write_all_at(&[0; BYTES], APART))
            .and_then(|()| new.file.write_all_at(&[0; FORMER_BYTES], FORMER_AT))
            .and_then(|()| new.file.sync_all())
            .and_then(|()| flush_directory(directory));
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            return Err(failed(error));
        }
        Ok(new)
    }

    /// Opens it, for writing if possible. `None`: it is not there.
    pub(super) fn open(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(NAME);
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) => File::open(&path),
            opened => opened,
        };
        let file = opened.map_err(|error| StoreError::file(&path, error))?;
        Ok(Some(Self { file, path }))
    }

    /// Locks it. `false`: another process has.
    pub(super) fn lock(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    /// Whether it is still the one with this name.
    pub(super) fn is_named(&self) -> bool {
        let named = self.path.symlink_metadata();
        let own = self.file.metadata();
        named.is_ok_and(|named| own.is_ok_and(|own| (own.dev(), own.ino()) == (named.dev(), named.ino())))
    }

    /// The last checkpoint.
    ///
    /// # Errors
    /// It cannot be read, or a newer version of the program has written it.
    pub(super) fn read(&self) -> Result<Noted, StoreError> {
        let mut newest: Option<Record> = None;
        let mut is_empty = true;
        for place in [0, APART] {
            let bytes = self.bytes_at::<BYTES>(place)?;
            if is_of_newer_version(&bytes) {
                return Err(StoreError::Format(format!(
                    "{}: a newer version of this program has written it; open the database with that version",
                    self.path.display()
                )));
            }
            is_empty &= bytes.iter().all(|byte| *byte == 0);
            newest = newest
                .into_iter()
                .chain(Record::decode(&bytes))
                .max_by_key(|record| record.number);
        }
        Ok(match newest {
            Some(record) => Noted::Last(Box::new(record)),
            None if is_empty => Noted::Nothing,
            None => Noted::Garbage,
        })
    }

    /// Writes a record over the one before the last, durably.
    pub(super) fn write(&self, record: &Record) -> Result<(), StoreError> {
        self.write_at(&record.encode(), place(record))
    }

    /// The meta pages that the data file had before it was taken back, if that has begun.
    pub(super) fn former(&self) -> Result<Option<FormerPages>, StoreError> {
        Ok(FormerPages::decode(&self.bytes_at::<FORMER_BYTES>(FORMER_AT)?))
    }

    /// Keeps the meta pages of the data file before they are overwritten, durably.
    pub(super) fn keep_former(&self, former: &FormerPages) -> Result<(), StoreError> {
        self.write_at(&former.encode(), FORMER_AT)
    }

    fn write_at(&self, bytes: &[u8], place: u64) -> Result<(), StoreError> {
        self.file
            .write_all_at(bytes, place)
            .and_then(|()| self.file.sync_data())
            .map_err(|error| StoreError::file(&self.path, error))
    }

    /// The bytes at a place, with zeros for those behind the end of the file.
    fn bytes_at<const LENGTH: usize>(&self, place: u64) -> Result<[u8; LENGTH], StoreError> {
        let mut bytes = [0; LENGTH];
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, place.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StoreError::file(&self.path, error)),
            }
        }
        Ok(bytes)
    }

    /// Removes it, durably: the data file is whole as it is.
    pub(super) fn remove(self) -> Result<(), StoreError> {
        self.put_away(|path| fs::remove_file(path))
    }

    /// Gives it another name, durably. A file that has this name is replaced.
    pub(super) fn rename(self, name: &str) -> Result<(), StoreError> {
        self.put_away(|path| fs::rename(path, path.with_file_name(name)))
    }

    fn put_away(&self, put: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), StoreError> {
        let done = match put(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        done.and_then(|()| flush_directory(self.path.parent().unwrap_or(Path::new("."))))
            .map_err(|error| StoreError::file(&self.path, error))
    }
}

/// Puts the file of a directory away whose data file has just been replaced. A file that a process has locked stays.
pub(crate) fn put_aside(directory: &Path) -> Result<(), StoreError> {
    match CheckpointFile::open(directory)? {
        Some(found) if found.lock() && found.is_named() => found.rename(ASIDE),
        _ => Ok(()),
    }
}

fn place(record: &Record) -> u64 {
    record.number % 2 * APART
}

fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}
