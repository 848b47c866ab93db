//! The place of an entry, and memory for its name.

use std::cell::{OnceCell, RefCell};

use ironbark_model::Dn;

/// The place of an entry: the parts of its name. Most rules do not need the whole name.
#[derive(Clone, Copy)]
pub(crate) struct EntryPlace<'a> {
    /// The name of the superior entry.
    pub(crate) parent: &'a Dn,
    /// The RDN, as it is written.
    pub(crate) rdn: &'a str,
}

/// A name that returns its memory to its source. So entries whose whole name is needed by rules do not each allocate
/// memory.
#[derive(Default)]
pub(super) struct BorrowedName<'a> {
    pub(super) name: OnceCell<Dn>,
    pub(super) home: Option<&'a RefCell<Dn>>,
}

impl BorrowedName<'_> {
    /// A name that is known already.
    pub(super) fn known(name: Dn) -> Self {
        Self {
            name: OnceCell::from(name),
            home: None,
        }
    }
}

impl Drop for BorrowedName<'_> {
    fn drop(&mut self) {
        if let (Some(home), Some(name)) = (self.home, self.name.take()) {
            home.replace(name);
        }
    }
}
