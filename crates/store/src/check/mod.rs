//! Checks whether a database still is what was written.
//!
//! The file is checked first, page by page and without a map ([`file`]). LMDB trusts what it finds, so only a file that
//! passes is read through LMDB. Then the content is checked ([`Database::check`]).

pub(crate) mod commit;
mod entries;
pub(crate) mod file;
mod findings;
mod lock;
mod pages;
mod postings;
pub(crate) mod tree;

use crate::{
    Database, DatabaseOptions, EntryId, StoreError, View, checkpoint,
    database::open_to_look_at,
    tables::{MetaRow, SHARED_KEYS_VERSION},
};

pub use findings::CheckFindings;
pub(crate) use lock::refuse_foreign_lock;
pub use pages::check_unused as file;
pub(crate) use pages::refuse_truncated;

/// Attempts to hold a commit of a file that is being written.
const ATTEMPTS: usize = 100;

/// What a check of the content is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Entries, names and values.
    Entries,
    /// The indexes too.
    Everything,
}

/// What a check of the content has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of entries, places that are kept for superiors included.
    pub entries: u64,
    /// Whether the file has checksums: files of older versions have none.
    pub has_checksums: bool,
    /// Whether values of big sets are found by a hash with a key of the file: files of older versions have none.
    pub has_hash_key: bool,
    /// What is wrong.
    pub findings: CheckFindings,
}

/// A check under way.
struct Deep<'v> {
    view: View<'v>,
    /// Positions of the indexes that are complete.
    complete: Vec<u16>,
    /// No entry has a greater number.
    last: EntryId,
    /// Whether the file has rows of shared keys.
    counts_shared_keys: bool,
}

/// Checks every page of the last commit of a database that may be in use, also by other processes.
///
/// # Errors
/// It cannot be opened or read.
pub fn file_in_use(options: &DatabaseOptions) -> Result<CheckFindings, StoreError> {
    let path = options.directory.join("data.mdb");
    checkpoint::settle(options)?;
    refuse_truncated(&path)?;
    let env = open_to_look_at(options)?;
    for _ in 0..ATTEMPTS {
        let mut findings = CheckFindings::default();
        // Its pages do not change while it is held.
        let held = env.read_txn()?;
        if pages::check(&path, Some(held.id() as u64), &mut findings)? {
            return Ok(findings);
        }
    }
    Err(StoreError::Format(format!("{}: commits come too fast", path.display())))
}

impl Database {
    /// Checks the content of the last commit. `progress` is called with the number of entries checked so far.
    ///
    /// # Errors
    /// LMDB cannot go on.
    pub fn check(&self, extent: Extent, progress: &mut dyn FnMut(u64)) -> Result<Report, StoreError> {
        let snapshot = self.snapshot()?;
        let view = snapshot.view();
        let indexes = view.catalog.indexes.iter().zip(0u16..);
        let complete = indexes.filter(|(index, _)| index.stored.is_complete() && index.usable_from <= view.txn.id());
        let deep = Deep {
            view,
            complete: complete.map(|(_, at)| at).collect(),
            last: view.tables().number(view.txn, MetaRow::NextEntry)?,
            counts_shared_keys: view.tables().number(view.txn, MetaRow::Format)? >= u64::from(SHARED_KEYS_VERSION),
        };
        let mut findings = CheckFindings::default();
        let mut sums = (extent == Extent::Everything).then(postings::Sums::default);
        let entries = entries::check(&deep, sums.as_mut(), &mut findings, progress)?;
        if let Some(sums) = sums {
            postings::check(&deep, &sums, &mut findings)?;
        }
        Ok(Report {
            entries,
            has_checksums: self.ground.tables.sealed,
            has_hash_key: self.ground.tables.member_hash.key().is_some(),
            findings,
        })
    }
}
