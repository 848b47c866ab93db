//! An operation as it was asked for, for who logs it.

use ironbark_model::Entry;

use super::modification::Modification;

/// An operation as its client asked for it, after its names and values were checked; operational attributes included.
#[derive(Clone, PartialEq, Debug)]
pub enum RequestedChange {
    /// Add, with the whole entry.
    Add(Entry),
    /// Modify; also password modify.
    Modify {
        /// The entry's name in the request, pretty form.
        dn: String,
        /// The changes in order.
        modifications: Vec<Modification>,
    },
    /// Modify DN.
    ModifyDn {
        /// The entry's name in the request, pretty form.
        dn: String,
        /// New RDN, pretty form.
        new_rdn: String,
        /// `deleteoldrdn`.
        delete_old_rdn: bool,
        /// New superior, pretty form.
        new_superior: Option<String>,
    },
    /// Delete: one for each entry of a deleted subtree.
    Delete {
        /// The entry's name, pretty form.
        dn: String,
    },
}
