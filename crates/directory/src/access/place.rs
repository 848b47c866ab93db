//! Where an entry is, and memory for its name.

use std::cell::{OnceCell, RefCell};

use ironbark_model::Dn;

/// Where an entry is: all that its name is made of, which most rules need not see whole.
#[derive(Clone, Copy)]
pub(crate) struct EntryPlace<'a> {
    /// The name of the superior entry.
    pub(crate) parent: &'a Dn,
    /// The RDN, as it is written.
    pub(crate) rdn: &'a str,
}

/// A name whose memory goes back to where it was taken from, so that entries of which rules see the whole name take
/// none each.
#[derive(Default)]
pub(super) struct BorrowedName<'a> {
    pub(super) name: OnceCell<Dn>,
    pub(super) home: Option<&'a RefCell<Dn>>,
}

impl BorrowedName<'_> {
    /// A name that need not be put together.
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
