//! The file `checkpoint.mdb`: which state of the data file is whole on the disk.
//!
//! ```text
//! two records, at 0 and at 4096, written in turns; the newer of those that are whole counts
//! record   8 bytes `IBCHKPT1`, 8 bytes number of the checkpoint, 16 bytes since when the machine runs,
//!          8 bytes inode of the data file and 8 when it was made, 152 bytes of its meta page, 8 bytes XXH3 of all before;
//!          numbers in the machine's order
//! ```

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use crate::{
    StoreError,
    check::file::{MetaPage, u64_at},
    hash,
};

const NAME: &str = "checkpoint.mdb";
const MAGIC: &[u8; 8] = b"IBCHKPT1";
const META_AT: usize = 48;
const SUM_AT: usize = META_AT + MetaPage::BYTES;
const BYTES: usize = SUM_AT + 8;
/// Bytes from one record to the other: no write to the disk concerns both.
const APART: u64 = 4_096;

/// What the kernel says of the time since the machine was started. It is another one after each start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Boot([u8; 16]);

impl Boot {
    /// Not known: as if the machine had been started anew.
    pub(crate) const UNKNOWN: Self = Self([0; 16]);

    /// That of now.
    pub(crate) fn current() -> Self {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        match hash::strong_hash(text.trim().as_bytes()).first_chunk() {
            Some(first) if !text.trim().is_empty() => Self(*first),
            _ => Self::UNKNOWN,
        }
    }

    /// Whether what this says of the kernel's memory is true now.
    pub(crate) fn is_current(self) -> bool {
        self != Self::UNKNOWN && self == Self::current()
    }
}

/// Which file it is, among all that have ever been on this disk. A copy is another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileId {
    inode: u64,
    /// Nanoseconds since 1970; 0 where the file system does not tell.
    born: u64,
}

impl FileId {
    pub(crate) fn of(found: &Metadata) -> Self {
        let born = found.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Self {
            inode: found.ino(),
            born: born.map_or(0, |born| u64::try_from(born.as_nanos()).unwrap_or(0)),
        }
    }
}

/// A state of a data file that is whole on the disk, and stays so while a reader holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) number: u64,
    /// When the file was last written to.
    pub(crate) boot: Boot,
    pub(crate) file: FileId,
    pub(crate) meta: MetaPage,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.number.to_ne_bytes());
        bytes.extend_from_slice(&self.boot.0);
        bytes.extend_from_slice(&self.file.inode.to_ne_bytes());
        bytes.extend_from_slice(&self.file.born.to_ne_bytes());
        bytes.extend_from_slice(self.meta.bytes());
        let sum = hash::value_hash(&bytes);
        bytes.extend_from_slice(&sum.to_ne_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let is_whole = bytes.starts_with(MAGIC) && u64_at(bytes, SUM_AT)? == hash::value_hash(bytes.get(..SUM_AT)?);
        let record = Self {
            number: u64_at(bytes, 8)?,
            boot: Boot(*bytes.get(16..)?.first_chunk()?),
            file: FileId {
                inode: u64_at(bytes, 32)?,
                born: u64_at(bytes, 40)?,
            },
            meta: MetaPage::of(bytes.get(META_AT..)?.first_chunk()?)?,
        };
        is_whole.then_some(record)
    }
}

/// The file beside a data file. Who serves the database has it locked.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    file: File,
    path: PathBuf,
}

impl CheckpointFile {
    /// Makes it, durably, with its first record.
    ///
    /// # Errors
    /// It is there: another process serves the database.
    pub(crate) fn create(directory: &Path, mode: u32, record: &Record) -> Result<Self, StoreError> {
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
            // The room of both records is there from now on.
            .and_then(|()| new.file.write_all_at(&[0; BYTES], APART))
            .and_then(|()| new.file.write_all_at(&record.encode(), Self::place(record)))
            .and_then(|()| new.file.sync_all())
            .and_then(|()| flush_directory(directory));
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            return Err(failed(error));
        }
        Ok(new)
    }

    /// Opens it, for writing if possible. `None`: it is not there.
    pub(crate) fn open(directory: &Path) -> Result<Option<Self>, StoreError> {
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

    /// Locks it. `false`: somebody else has.
    pub(crate) fn lock(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    /// Whether it is still the one with this name.
    pub(crate) fn is_named(&self) -> bool {
        let named = self.path.symlink_metadata();
        let own = self.file.metadata();
        named.is_ok_and(|named| own.is_ok_and(|own| (own.dev(), own.ino()) == (named.dev(), named.ino())))
    }

    /// The last checkpoint. `None`: the file was not finished.
    pub(crate) fn read(&self) -> Result<Option<Record>, StoreError> {
        let mut newest: Option<Record> = None;
        for place in [0, APART] {
            let mut bytes = [0; BYTES];
            match self.file.read_exact_at(&mut bytes, place) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
                Err(error) => return Err(StoreError::file(&self.path, error)),
            }
            let record = Record::decode(&bytes);
            newest = newest.into_iter().chain(record).max_by_key(|record| record.number);
        }
        Ok(newest)
    }

    /// Writes a record over the one before the last, durably.
    pub(crate) fn write(&self, record: &Record) -> Result<(), StoreError> {
        self.file
            .write_all_at(&record.encode(), Self::place(record))
            .and_then(|()| self.file.sync_data())
            .map_err(|error| StoreError::file(&self.path, error))
    }

    /// Removes it, durably: the data file is whole as it is.
    pub(crate) fn remove(self) -> Result<(), StoreError> {
        let removed = match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        removed
            .and_then(|()| flush_directory(self.path.parent().unwrap_or(Path::new("."))))
            .map_err(|error| StoreError::file(&self.path, error))
    }

    fn place(record: &Record) -> u64 {
        record.number % 2 * APART
    }
}

fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}
