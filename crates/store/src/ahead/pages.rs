//! Pages of a snapshot where LMDB has mapped them.

use std::{marker::PhantomData, sync::Arc};

use heed::RoTxn;

use super::node::{Node, Value};
use crate::{
    StoreError,
    check::file::{HEADER, Meta, PageFile, Root},
    tables::Environment,
};

/// An open environment, and where LMDB has mapped its file. It has done so once: nothing of ours asks for a larger map.
pub(crate) struct Map {
    env: Environment,
    /// Address of the first page.
    base: usize,
    page_size: usize,
}

/// The pages of one snapshot.
pub(super) struct Pages {
    map: Arc<Map>,
    /// The last page in use.
    last: u64,
    /// LMDB's number of the transaction that they belong to.
    transaction: usize,
}

/// They, while the transaction is open.
#[derive(Clone, Copy)]
pub(super) struct Mapped<'t> {
    base: usize,
    page_size: usize,
    last: u64,
    of: PhantomData<&'t [u8]>,
}

/// Bytes in the file: their distance from its beginning, and their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    at: usize,
    length: usize,
}

/// Bytes of a page that a map of a file begins at, on every system.
const LEAST_PAGE: usize = 4096;
/// Bytes of a page that are requested before it is entered: its header, and places of its nodes.
const REQUESTED: usize = 256;
/// Bytes that come from memory together.
const LINE: usize = 64;
/// Bytes of a record that are requested. The rest of a longer one comes in order, which processors foresee.
const RECORD: usize = 2048;

impl Map {
    /// The map of an environment in which the unnamed table has this row. `None`: its pages are not as we know them, or
    /// others have committed meanwhile.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn of(env: &Environment, txn: &RoTxn<'_>, row: &[u8]) -> Result<Option<Self>, StoreError> {
        let Some(file) = PageFile::open(&env.path().join("data.mdb"))? else {
            return Ok(None);
        };
        let of_txn = |meta: &Meta| usize::try_from(meta.transaction) == Ok(txn.id());
        let meta = file.metas()?.into_iter().flatten().find(of_txn);
        let base = meta.and_then(|meta| base_of(&meta.main, row, file.page_size()));
        Ok(base.map(|base| Self {
            env: env.clone(),
            base,
            page_size: file.page_size(),
        }))
    }

    /// For the open transaction.
    pub(super) fn pages(self: &Arc<Self>, txn: &RoTxn<'_>) -> Option<Pages> {
        Some(Pages {
            map: Arc::clone(self),
            // It may be that of a later commit: the file does not get shorter.
            last: u64::try_from(self.env.info().last_page_number).ok()?,
            transaction: txn.id(),
        })
    }
}

impl Pages {
    /// The pages in their transaction.
    #[inline]
    pub(super) fn of<'t>(&self, txn: &'t RoTxn<'_>) -> Mapped<'t> {
        debug_assert_eq!(txn.id(), self.transaction, "another snapshot");
        Mapped::at(self.map.base, self.map.page_size, self.last)
    }
}

/// Where the map begins, if LMDB has found this row in a tree of one page: it looked there for it. What the page
/// itself says does not count.
fn base_of(tree: &Root, row: &[u8], page_size: usize) -> Option<usize> {
    // A map begins at one of the system's pages, which have this many bytes at least. Where LMDB has made larger ones,
    // that does not tell where they begin.
    let is_known = page_size == LEAST_PAGE && tree.depth == 1;
    let address = row.as_ptr().addr();
    let before = usize::try_from(tree.page.filter(|_| is_known)?).ok()?;
    (address - address % page_size).checked_sub(before.checked_mul(page_size)?)
}

impl<'t> Mapped<'t> {
    /// Pages at an address, with the number of the last.
    #[inline]
    fn at(base: usize, page_size: usize, last: u64) -> Self {
        Self {
            base,
            page_size,
            last,
            of: PhantomData,
        }
    }

    /// The pages of a file that is in memory: for tests. `None`: it has none.
    pub(super) fn over(file: &'t [u8], page_size: usize) -> Option<Self> {
        let last = ((file.len() / page_size) as u64).checked_sub(1)?;
        Some(Self::at(file.as_ptr().expose_provenance(), page_size, last))
    }

    /// `None`: the file ends before.
    #[inline]
    pub(super) fn bytes(self, Place { at, length }: Place) -> Option<&'t [u8]> {
        let pages = usize::try_from(self.last).ok()?.checked_add(1)?;
        let end = pages.checked_mul(self.page_size)?;
        if at.checked_add(length)? > end {
            return None;
        }
        let start = std::ptr::with_exposed_provenance::<u8>(self.base + at);
        // SAFETY: LMDB keeps the file mapped while the transaction is open, and these bytes lie within its pages in
        // use. Nobody writes to the map. Pages of a commit that a reader holds are not written to the file; others are,
        // but only a damaged file leads to them, and LMDB would read them then too.
        #[allow(unsafe_code, reason = "pages of LMDB's map")]
        Some(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// A page.
    #[inline]
    pub(super) fn page(self, number: u64) -> Option<&'t [u8]> {
        let at = usize::try_from(number).ok()?.checked_mul(self.page_size)?;
        self.bytes(Place {
            at,
            length: self.page_size,
        })
    }

    /// Where the value of a node in a leaf lies.
    #[inline]
    pub(super) fn place(self, node: Node<'t>) -> Option<Place> {
        match node.value()? {
            Value::Here(value) => Some(Place {
                at: value.as_ptr().addr() - self.base,
                length: value.len(),
            }),
            Value::Overflow(page, length) => Some(Place {
                at: usize::try_from(page)
                    .ok()?
                    .checked_mul(self.page_size)?
                    .checked_add(HEADER)?,
                length,
            }),
        }
    }

    /// Requests the beginning of a page from memory.
    #[inline]
    pub(super) fn request_page(self, number: u64) {
        if let Some(page) = self.page(number) {
            request_all(page, REQUESTED);
        }
    }

    /// Requests bytes from memory.
    #[inline]
    pub(super) fn request(self, place: Place) {
        if let Some(bytes) = self.bytes(place) {
            request_all(bytes, RECORD);
        }
    }
}

/// Requests the first bytes from memory, `most` at most.
#[inline]
fn request_all(bytes: &[u8], most: usize) {
    let bytes = bytes.get(..most).unwrap_or(bytes);
    bytes.iter().step_by(LINE).for_each(request);
}

/// Requests the memory around a byte, and does not wait for it.
#[inline]
pub(super) fn request(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing, and has no effect but on the time that a later read takes.
        #[allow(unsafe_code, reason = "there is no safe form")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(*byte);
}
