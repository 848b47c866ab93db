//! The file `checkpoint.mdb`: which state of the data file is whole on the disk.
//!
//! ```text
//! two records, at 0 and at 4096, written in turns; the newer of those that are whole counts
//! record   8 bytes `IBCHKPT2`, 8 bytes number of the checkpoint, 16 bytes since when the machine runs,
//!          8 bytes inode of the data file and 8 when it was made, 152 bytes of its meta page,
//!          16 bytes of the serving, 16 bytes identifier, 8 bytes generation, 32 bytes fingerprint of the commit,
//!          8 bytes XXH3 of all before; numbers in the machine's order
//! `IBCHKPT1` came before: without mark to fingerprint, so it proves nothing, and counts as one that cannot be read
//! at 8192  8 bytes `IBFORMER`, 8 bytes number of the checkpoint, twice 152 bytes: the meta pages that the data file
//!          had before it was taken back, 8 bytes XXH3 of all before
//! ```

use std::{fs, os::unix::fs::MetadataExt, time::UNIX_EPOCH};

use super::{
    boot::Boot,
    identity::Content,
    mark::{Serving, ServingMark},
};
use crate::{
    check::file::{MetaPage, u64_at},
    hash,
};

/// Bytes of a record.
pub(super) const BYTES: usize = SERVING_AT + 72 + SUM;
/// Bytes of the former meta pages.
pub(super) const FORMER_BYTES: usize = 16 + 2 * MetaPage::BYTES + SUM;

/// How every record of any version begins, before one digit.
const FAMILY: &[u8; 7] = b"IBCHKPT";
const MAGIC: &[u8; 8] = b"IBCHKPT2";
const FORMER_MAGIC: &[u8; 8] = b"IBFORMER";
const META_AT: usize = 48;
const SERVING_AT: usize = META_AT + MetaPage::BYTES;
const SUM: usize = 8;

/// The inode of a file. It tells a copy from the file itself while the machine runs, but not what is in it: `cp` over a
/// file keeps both numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileId {
    inode: u64,
    /// Nanoseconds since 1970; 0 where the file system does not tell.
    born: u64,
}

impl FileId {
    pub(crate) fn of(found: &fs::Metadata) -> Self {
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
    pub(crate) serving: Serving,
    pub(crate) content: Content,
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.number.to_ne_bytes());
        bytes.extend_from_slice(&self.boot.0);
        bytes.extend_from_slice(&self.file.inode.to_ne_bytes());
        bytes.extend_from_slice(&self.file.born.to_ne_bytes());
        bytes.extend_from_slice(self.meta.bytes());
        bytes.extend_from_slice(&self.serving.0);
        bytes.extend_from_slice(&self.content.identifier);
        bytes.extend_from_slice(&self.content.generation.to_ne_bytes());
        bytes.extend_from_slice(&self.content.fingerprint);
        seal(bytes)
    }

    /// `None`: it is not whole. There may be more behind it.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        unseal(bytes, BYTES)?;
        let (serving, rest) = bytes
            .strip_prefix(MAGIC)?
            .get(SERVING_AT - MAGIC.len()..)?
            .split_first_chunk()?;
        let (identifier, rest) = rest.split_first_chunk()?;
        Some(Self {
            number: u64_at(bytes, 8)?,
            boot: Boot(*bytes.get(16..)?.first_chunk()?),
            file: FileId {
                inode: u64_at(bytes, 32)?,
                born: u64_at(bytes, 40)?,
            },
            meta: MetaPage::of(bytes.get(META_AT..)?.first_chunk()?)?,
            serving: Serving(*serving),
            content: Content {
                identifier: *identifier,
                generation: u64_at(rest, 0)?,
                fingerprint: *rest.get(8..)?.first_chunk()?,
            },
        })
    }

    /// Whether a file with this mark has every page of the checkpoint: LMDB keeps those of the last two.
    pub(super) fn is_held_by(&self, mark: &ServingMark) -> bool {
        mark.serving == self.serving && mark.checkpoint <= self.number.saturating_add(1)
    }
}

/// Whether a record is of a version that this program does not know.
pub(super) fn is_of_newer_version(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(FAMILY);
    rest.and_then(<[u8]>::first)
        .is_some_and(|digit| matches!(digit, b'3'..=b'9'))
}

/// The meta pages of a data file as they were before it was taken back. A page may have been anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FormerPages {
    /// Number of the checkpoint to which it was taken back.
    pub(super) number: u64,
    pub(super) pages: [[u8; MetaPage::BYTES]; 2],
}

impl FormerPages {
    pub(super) fn encode(&self) -> Vec<u8> {
        let [one, two] = &self.pages;
        seal([FORMER_MAGIC, &self.number.to_ne_bytes()[..], one, two].concat())
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        unseal(bytes, FORMER_BYTES)?;
        let (one, rest) = bytes.strip_prefix(FORMER_MAGIC)?.get(8..)?.split_first_chunk()?;
        Some(Self {
            number: u64_at(bytes, 8)?,
            pages: [*one, *rest.first_chunk()?],
        })
    }
}

fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = hash::value_hash(&bytes);
    bytes.extend_from_slice(&sum.to_ne_bytes());
    bytes
}

/// `None`: the sum at the end of the first `length` bytes is wrong.
fn unseal(bytes: &[u8], length: usize) -> Option<()> {
    let sum_at = length.checked_sub(SUM)?;
    (u64_at(bytes, sum_at)? == hash::value_hash(bytes.get(..sum_at)?)).then_some(())
}
