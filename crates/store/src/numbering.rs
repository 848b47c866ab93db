//! What the numbers in records stand for, as of one commit: attributes, indexes, shared sets.
//!
//! Invariant: the reader of a snapshot has a [`Numbering`] that knows every number in it. The writer publishes one
//! before its commit. A reader that sees the commit of another process, or of another handle, makes one from its own
//! snapshot. No lock is taken for that, so readers wait for nobody.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use heed::RoTxn;

use crate::{
    StoreError,
    catalog::{Catalog, Parts, Undefined},
    sets::SharedSets,
    tables::Tables,
};

/// An immutable value; swapped whole.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sets: Arc<SharedSets>,
    /// LMDB's number of a transaction whose numbers it has. It may be good for later ones too.
    known_to: usize,
}

impl Numbering {
    pub(crate) fn new(catalog: Arc<Catalog>, sets: Arc<SharedSets>, known_to: usize) -> Self {
        Self {
            catalog,
            sets,
            known_to,
        }
    }
}

/// The numbering that is in force for one handle on a database.
pub(crate) struct PublishedNumbering {
    current: ArcSwap<Numbering>,
    /// LMDB's number of the last transaction for which `current` is good.
    good_to: AtomicUsize,
}

impl PublishedNumbering {
    pub(crate) fn new(numbering: Numbering) -> Self {
        Self {
            good_to: AtomicUsize::new(numbering.known_to),
            current: ArcSwap::from_pointee(numbering),
        }
    }

    /// The newest one. It may lack numbers that other processes have committed since.
    pub(crate) fn newest(&self) -> Arc<Numbering> {
        self.current.load_full()
    }

    /// The numbering for an open transaction, all of whose commits up to `commit` are visible to it.
    ///
    /// # Errors
    /// The storage failed, or the file contradicts what is known.
    #[inline]
    pub(crate) fn of(&self, txn: &RoTxn<'_>, commit: usize, tables: &Tables) -> Result<Arc<Numbering>, StoreError> {
        // Loaded after the transaction has begun: everything that it can hold was published before its commit.
        if commit <= self.good_to.load(Ordering::Acquire) {
            return Ok(self.current.load_full());
        }
        self.load(txn, commit, tables)
    }

    #[cold]
    fn load(&self, txn: &RoTxn<'_>, commit: usize, tables: &Tables) -> Result<Arc<Numbering>, StoreError> {
        let current = self.current.load_full();
        if current.known_to >= commit {
            return Ok(current);
        }
        let mut sets = Arc::clone(&current.sets);
        let mut loaded = SharedSets::clone(&sets);
        if loaded.load(txn, tables)? {
            sets = Arc::new(loaded);
        }
        let parts = Parts::load(txn, tables, &current.catalog.indexes)?;
        let catalog = Catalog::build(Arc::clone(&current.catalog.schema), parts, Undefined::Invisible)?;
        let loaded = Arc::new(Numbering::new(Arc::new(catalog), sets, commit));
        let former = self.current.compare_and_swap(&current, Arc::clone(&loaded));
        // Where another thread was quicker, this one is good for this transaction alone.
        if Arc::ptr_eq(&former, &current) {
            self.good_to.fetch_max(commit, Ordering::Release);
        }
        Ok(loaded)
    }

    /// Publishes the numbering of a transaction that is about to commit. The caller holds the writer's lock.
    pub(crate) fn announce(&self, numbering: Option<Numbering>, commit: usize) -> Announced<'_> {
        let former = (self.newest(), self.good_to.load(Ordering::Acquire));
        if let Some(numbering) = numbering {
            self.current.store(Arc::new(numbering));
        }
        self.good_to.store(commit, Ordering::Release);
        Announced {
            published: self,
            former,
        }
    }
}

/// A numbering that was published before its commit.
#[must_use = "a commit that fails takes it back"]
pub(crate) struct Announced<'p> {
    published: &'p PublishedNumbering,
    former: (Arc<Numbering>, usize),
}

impl Announced<'_> {
    /// The commit has failed: no snapshot shows it. Readers that have the numbering of it meanwhile do no harm: it has
    /// everything of the former one.
    pub(crate) fn take_back(self) {
        self.published.good_to.store(self.former.1, Ordering::Release);
        self.published.current.store(self.former.0);
    }
}
