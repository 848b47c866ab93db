//! What a checkpoint is a checkpoint of: by its content, and not by the file's name, inode or age.
//!
//! LMDB does not write to a page that a reader may see. So as long as a checkpoint is held, its pages stay where they
//! are, and every later state of the file has them too. A file that has other pages there has another history.

use crate::{
    StoreError,
    check::{
        commit::rows_of,
        file::{Meta, MetaPage, PageFile},
        tree::Value,
    },
    hash,
    tables::MetaRow,
};

/// What a commit holds in pages that each commit replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Content {
    /// The row `identifier`: sixteen random bytes of the database; zeros for none.
    pub(super) identifier: [u8; 16],
    /// The row `generation`: the random number of the log; 0 for none.
    pub(super) generation: u64,
    /// SHA-256 of the root page of the main table, of the root page of the free pages, and of the rows of `meta`. The
    /// first names the root of every other table and counts its rows. Number, time and chain of the last change are in
    /// `meta`.
    pub(super) fingerprint: [u8; 32],
}

const NO_IDENTIFIER: [u8; 16] = [0; 16];

impl Content {
    /// `None`: the root pages or `meta` cannot be read.
    pub(super) fn of(file: &PageFile, meta: Meta) -> Result<Option<Self>, StoreError> {
        let mut hashed = Vec::new();
        let mut page = Vec::new();
        for root in [meta.main.page, meta.free.page].into_iter().flatten() {
            if !file.page(root, &mut page)? {
                return Ok(None);
            }
            hashed.extend_from_slice(&page);
        }
        let (mut identifier, mut generation) = (NO_IDENTIFIER, 0);
        let is_whole = rows_of(file, meta, "meta", &mut |key, value| {
            put(&mut hashed, key);
            match value {
                Value::Here(bytes) => put(&mut hashed, bytes),
                // These pages are not written to either: where they are is enough.
                Value::Overflow(first, length) => put(&mut hashed, &[first, length].map(u64::to_ne_bytes).concat()),
                Value::Tree(_) => {}
            }
            let Value::Here(bytes) = value else { return };
            if key == MetaRow::Identifier.key() {
                identifier = bytes.first_chunk().copied().unwrap_or(NO_IDENTIFIER);
            } else if key == MetaRow::Generation.key() {
                generation = bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            }
        })?;
        Ok(is_whole.then(|| Self {
            identifier,
            generation,
            fingerprint: hash::strong_hash(&hashed),
        }))
    }

    /// Whether a file has the commit with this meta page, the commit has this content, and nothing speaks against the
    /// file's being a later state of it.
    pub(super) fn is_before(&self, file: &PageFile, commit: &MetaPage) -> Result<bool, StoreError> {
        if Self::of(file, commit.meta())?.as_ref() != Some(self) {
            return Ok(false);
        }
        let Some(newest) = file.newest()? else {
            // Both meta pages are lost.
            return Ok(true);
        };
        if newest.transaction < commit.transaction() {
            return Ok(false);
        }
        // The newest commit may lack pages, and then says nothing. Its generation says nothing either: in the place of
        // a missing page there may be one from before the database was restored.
        let newest = Self::of(file, newest)?.map(|newest| newest.identifier);
        Ok(newest.is_none_or(|identifier| identifier == self.identifier || identifier == NO_IDENTIFIER))
    }
}

fn put(hashed: &mut Vec<u8>, bytes: &[u8]) {
    hashed.extend_from_slice(&(bytes.len() as u64).to_ne_bytes());
    hashed.extend_from_slice(bytes);
}
