//! LMDB's data file, read page by page and without a map: no content of the file can end the process.
//!
//! The format is that of LMDB 0.9 on machines of 64 bits, numbers in the machine's order:
//!
//! ```text
//! each page     8 bytes page number, 2 bytes, 2 bytes flags, then 2 bytes lower and 2 bytes upper (overflow: 4 bytes number of pages)
//! meta pages    0 and 1; from byte 16: 4 bytes magic, 4 bytes version, 8 bytes, 8 bytes size of the map, two trees (free pages, main),
//!               8 bytes last page in use, 8 bytes number of the transaction
//! tree          4 bytes (of the first: bytes of a page), 2 bytes flags, 2 bytes depth, 8 bytes each: branch pages, leaf pages,
//!               overflow pages, entries, root (all bits set: none)
//! ```

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::StoreError;

/// A data file.
pub(crate) struct PageFile {
    file: File,
    path: PathBuf,
    page_size: usize,
}

/// A tree as its parent describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) flags: u16,
    pub(crate) depth: u16,
    pub(crate) branches: u64,
    pub(crate) leaves: u64,
    pub(crate) overflows: u64,
    pub(crate) entries: u64,
    /// Its page; `None` for an empty tree.
    pub(crate) page: Option<u64>,
}

/// One of the two meta pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) free: Root,
    pub(crate) main: Root,
    pub(crate) last_page: u64,
    pub(crate) transaction: u64,
}

/// Bytes of a tree's description.
pub(crate) const ROOT_BYTES: usize = 48;
/// Bytes of a page before its content.
pub(crate) const HEADER: usize = 16;
/// Flags of a page.
pub(crate) const META: u16 = 8;

const META_BYTES: usize = 152;
/// Where a meta page has the number of its transaction.
const TRANSACTION_AT: usize = 144;
const MAGIC: u32 = 0xbeef_c0de;
const VERSION: u32 = 1;
/// Page sizes that LMDB makes.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 256..=65_536;

/// The two bytes at a place.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

/// The four bytes at a place.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// The eight bytes at a place.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*bytes))
}

impl Root {
    /// The tree that is described at a place.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(Self {
            flags: u16_at(bytes, at + 4)?,
            depth: u16_at(bytes, at + 6)?,
            branches: u64_at(bytes, at + 8)?,
            leaves: u64_at(bytes, at + 16)?,
            overflows: u64_at(bytes, at + 24)?,
            entries: u64_at(bytes, at + 32)?,
            page: u64_at(bytes, at + 40).map(|page| (page != u64::MAX).then_some(page))?,
        })
    }
}

/// A meta page, and the page size that it names. `None`: this is no meta page.
fn meta(bytes: &[u8]) -> Option<(Meta, usize)> {
    let size = u32_at(bytes, 40)?;
    let is_meta = u16_at(bytes, 10)? & META != 0
        && u32_at(bytes, 16)? == MAGIC
        && u32_at(bytes, 20)? == VERSION
        && PAGE_SIZES.contains(&size)
        && size.is_power_of_two();
    let meta = Meta {
        free: Root::read(bytes, 40)?,
        main: Root::read(bytes, 88)?,
        last_page: u64_at(bytes, 136)?,
        transaction: u64_at(bytes, TRANSACTION_AT)?,
    };
    is_meta.then_some((meta, usize::try_from(size).ok()?))
}

/// The bytes of a meta page, which names everything of one commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MetaPage {
    bytes: [u8; META_BYTES],
    meta: Meta,
    page_size: usize,
}

impl MetaPage {
    pub(crate) const BYTES: usize = META_BYTES;

    /// `None`: this is no meta page.
    pub(crate) fn of(bytes: &[u8; META_BYTES]) -> Option<Self> {
        let (meta, page_size) = meta(bytes)?;
        let bytes = *bytes;
        Some(Self { bytes, meta, page_size })
    }
    pub(crate) fn bytes(&self) -> &[u8; META_BYTES] {
        &self.bytes
    }
    pub(crate) fn meta(&self) -> Meta {
        self.meta
    }
    pub(crate) fn page_size(&self) -> u64 {
        self.page_size as u64
    }
    /// Octets of the file that the commit uses.
    pub(crate) fn length(&self) -> u64 {
        self.meta.last_page.saturating_add(1).saturating_mul(self.page_size())
    }
    /// LMDB's number of the commit.
    pub(crate) fn transaction(&self) -> u64 {
        self.meta.transaction
    }
    /// Both meta pages of a file whose last commit this is. LMDB writes the next one to the other page, which says the
    /// same until then.
    pub(crate) fn as_only(&self) -> [Self; 2] {
        let last = self.meta.transaction;
        [0, 1].map(|place| {
            let transaction = if last % 2 == place {
                last
            } else {
                last.saturating_sub(1)
            };
            let mut page = self.clone();
            page.meta.transaction = transaction;
            page.put(0, place);
            page.put(TRANSACTION_AT, transaction);
            page
        })
    }
    fn put(&mut self, at: usize, number: u64) {
        for (byte, value) in self.bytes.iter_mut().skip(at).zip(number.to_ne_bytes()) {
            *byte = value;
        }
    }
}

impl PageFile {
    /// Opens a data file. `None`: it is empty, or does not begin like a data file (LMDB then says what it is).
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut page = Self::with_page_size(path, META_BYTES)?;
        let mut first = [0; META_BYTES];
        if page.read(0, &mut first)? < META_BYTES {
            return Ok(None);
        }
        let Some((_, size)) = meta(&first) else { return Ok(None) };
        page.page_size = size;
        Ok(Some(page))
    }
    /// Opens a file whose pages have the size that a meta page names, whatever the file begins with.
    pub(crate) fn open_as(path: &Path, meta: &MetaPage) -> Result<Self, StoreError> {
        Self::with_page_size(path, meta.page_size)
    }
    fn with_page_size(path: &Path, page_size: usize) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|error| StoreError::file(path, error))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            page_size,
        })
    }
    /// Bytes of a page.
    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }
    /// Bytes of the file as of now.
    pub(crate) fn length(&self) -> Result<u64, StoreError> {
        let found = self.file.metadata();
        Ok(found.map_err(|error| StoreError::file(&self.path, error))?.len())
    }
    /// Waits until all that was written to the file is on the disk.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let flushed = self.file.sync_data();
        flushed.map_err(|error| StoreError::file(&self.path, error))
    }
    /// Both meta pages; `None` for one that is no meta page.
    pub(crate) fn metas(&self) -> Result<[Option<Meta>; 2], StoreError> {
        Ok(self.meta_pages()?.map(|page| page.map(|page| page.meta)))
    }
    /// The same with their bytes.
    pub(crate) fn meta_pages(&self) -> Result<[Option<MetaPage>; 2], StoreError> {
        let mut pages = [None, None];
        for (place, found) in [0, self.page_size as u64].into_iter().zip(&mut pages) {
            let mut bytes = [0; META_BYTES];
            if self.read(place, &mut bytes)? == META_BYTES {
                *found = MetaPage::of(&bytes).filter(|page| page.page_size == self.page_size);
            }
        }
        Ok(pages)
    }
    /// The last commit.
    pub(crate) fn newest(&self) -> Result<Option<Meta>, StoreError> {
        let metas = self.metas()?.into_iter().flatten();
        Ok(metas.max_by_key(|meta| meta.transaction))
    }
    /// Reads a page. `false`: the file ends before the page does.
    pub(crate) fn page(&self, number: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        out.resize(self.page_size, 0);
        let Some(place) = number.checked_mul(self.page_size as u64) else {
            return Ok(false);
        };
        Ok(self.read(place, out)? == self.page_size)
    }
    /// Reads from a place on. Returns the number of bytes, which is smaller than asked for at the end of the file.
    pub(crate) fn read(&self, place: u64, out: &mut [u8]) -> Result<usize, StoreError> {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, place.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // No file is so long.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => break,
                Err(error) => return Err(StoreError::file(&self.path, error)),
            }
        }
        Ok(done)
    }
}
