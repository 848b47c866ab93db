//! The mark of a serving in a data file: which process has served it with checkpoints, and when.
//!
//! ```text
//! the last 32 bytes of page 0, which LMDB does not use
//! 8 bytes `IBSERVED`, 16 random bytes, 8 bytes XXH3 of all before in the machine's order
//! ```
//!
//! It is written when a process begins to serve a file with checkpoints, and removed when all of the file is on the
//! disk. Backups, restored files and copies for a cluster are made without one, so a crash has never struck them.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use crate::{
    StoreError,
    check::file::{PageFile, u64_at},
    hash,
};

/// The random number of a serving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ServingMark([u8; 16]);

const MAGIC: &[u8; 8] = b"IBSERVED";
const BYTES: usize = 32;
const NUMBER_AT: usize = 8;
const SUM_AT: usize = 24;

impl ServingMark {
    /// A new one.
    pub(super) fn new() -> Result<Self, StoreError> {
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
        Ok(Self(number))
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The one that a file has.
    pub(super) fn of(file: &PageFile) -> Result<Option<Self>, StoreError> {
        let mut bytes = [0; BYTES];
        let is_there = file.read(place(file), &mut bytes)? == BYTES;
        Ok(Self::decode(&bytes).filter(|_| is_there))
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let number = bytes.get(NUMBER_AT..)?.first_chunk()?;
        let is_whole = bytes.starts_with(MAGIC) && u64_at(bytes, SUM_AT)? == hash::value_hash(bytes.get(..SUM_AT)?);
        is_whole.then_some(Self(*number))
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &self.0].concat();
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

/// Whether a file has a mark.
pub(super) fn is_in(path: &Path) -> Result<bool, StoreError> {
    let mark = PageFile::open(path)?.map(|file| ServingMark::of(&file)).transpose()?;
    Ok(mark.flatten().is_some())
}

/// Removes the mark from a file, if it has one. It need not come to the disk before the record is put away: without the
/// mark a record does nothing, and without a record the mark does nothing.
pub(super) fn clear(path: &Path) -> Result<(), StoreError> {
    match PageFile::open(path)? {
        Some(file) if ServingMark::of(&file)?.is_some() => write(path, &file, &[0; BYTES]),
        _ => Ok(()),
    }
}

/// The same for a copy that is not in its place yet, durably.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn clear_of_copy(path: &Path) -> Result<(), StoreError> {
    if !is_in(path)? {
        return Ok(());
    }
    clear(path)?;
    let flushed = File::open(path).and_then(|file| file.sync_data());
    flushed.map_err(|error| StoreError::file(path, error))
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
