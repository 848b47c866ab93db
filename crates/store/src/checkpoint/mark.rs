//! The mark of a serving in a data file: which process has served it with checkpoints, when, and how far it has come.
//!
//! ```text
//! the last 56 bytes of page 0, which LMDB does not use
//! 8 bytes `IBSERVED`, 16 random bytes, 16 bytes since when the machine runs, 8 bytes number of the checkpoint that was
//! begun last, 8 bytes XXH3 of all before; numbers in the machine's order
//! ```
//!
//! It is written when a process begins to serve a file with checkpoints, and removed when all of the file is on the
//! disk. Backups, restored files and copies for a cluster are made without one, so a crash has never struck them.
//!
//! On the disk, a file has a mark only while its record is beside it: the record is written before the mark, and
//! removed after it. So a file that has a mark of an earlier start of the machine, and not the record of this serving,
//! was separated from it, and nothing tells which of its pages are missing.

use std::{fs::OpenOptions, os::unix::fs::FileExt, path::Path};

use super::boot::Boot;
use crate::{
    StoreError,
    check::file::{PageFile, u64_at},
    hash,
};

/// The random number of a serving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Serving(pub(super) [u8; 16]);

/// What a data file says of its serving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ServingMark {
    pub(super) serving: Serving,
    /// When the file was served.
    pub(super) boot: Boot,
    /// The checkpoint that was begun last. The pages of this one and of the one before are not written to.
    pub(super) checkpoint: u64,
}

const MAGIC: &[u8; 8] = b"IBSERVED";
const BYTES: usize = 56;
const NUMBER_AT: usize = 8;
const BOOT_AT: usize = 24;
const CHECKPOINT_AT: usize = 40;
const SUM_AT: usize = 48;

impl Serving {
    /// A new one.
    pub(super) fn new() -> Result<Self, StoreError> {
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
        Ok(Self(number))
    }
}

impl ServingMark {
    /// The one that a file has.
    pub(super) fn of(file: &PageFile) -> Result<Option<Self>, StoreError> {
        let mut bytes = [0; BYTES];
        let is_there = file.read(place(file), &mut bytes)? == BYTES;
        Ok(Self::decode(&bytes).filter(|_| is_there))
    }

    /// The one of a file of any kind. `None` also if it does not begin like a data file.
    pub(super) fn at(path: &Path) -> Result<Option<Self>, StoreError> {
        let mark = PageFile::open(path)?.map(|file| Self::of(&file)).transpose()?;
        Ok(mark.flatten())
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let is_whole = bytes.starts_with(MAGIC) && u64_at(bytes, SUM_AT)? == hash::value_hash(bytes.get(..SUM_AT)?);
        let mark = Self {
            serving: Serving(*bytes.get(NUMBER_AT..)?.first_chunk()?),
            boot: Boot(*bytes.get(BOOT_AT..)?.first_chunk()?),
            checkpoint: u64_at(bytes, CHECKPOINT_AT)?,
        };
        is_whole.then_some(mark)
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = [
            &MAGIC[..],
            &self.serving.0,
            &self.boot.0,
            &self.checkpoint.to_ne_bytes(),
        ]
        .concat();
        let sum = hash::value_hash(&bytes);
        bytes.extend_from_slice(&sum.to_ne_bytes());
        bytes
    }

    /// Writes it into a file. It is on the disk with the next flush of the file.
    pub(super) fn put(self, path: &Path) -> Result<(), StoreError> {
        match PageFile::open(path)? {
            Some(file) => write(path, &file, &self.encode()),
            None => Err(StoreError::Format(format!("{}: not a data file", path.display()))),
        }
    }
}

/// Removes the mark from a file, if it has one, durably: a file that is not beside its record must have none.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn clear(path: &Path) -> Result<(), StoreError> {
    let Some(file) = PageFile::open(path)? else {
        return Ok(());
    };
    if ServingMark::of(&file)?.is_none() {
        return Ok(());
    }
    write(path, &file, &[0; BYTES])?;
    file.flush()
}

fn place(file: &PageFile) -> u64 {
    file.page_size().saturating_sub(BYTES) as u64
}

fn write(path: &Path, file: &PageFile, bytes: &[u8]) -> Result<(), StoreError> {
    let opened = OpenOptions::new().write(true).open(path);
    opened
        .and_then(|opened| opened.write_all_at(bytes, place(file)))
        .map_err(|error| StoreError::file(path, error))
}
