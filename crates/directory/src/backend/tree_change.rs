//! A change in the form for parts other than the store: a tree in memory, a program.

use ironbark_model::{Dn, Entry};

use crate::request::modification::Modification;

/// A change of a tree in memory. In modify, delete and modify DN, names are those of the entries. Other names are as
/// the client wrote them.
#[allow(clippy::large_enum_variant, reason = "one for each request, and passed by reference")]
#[derive(Clone, PartialEq, Debug)]
pub enum TreeChange {
    /// The entry from the client, without operational attributes. Its superior exists.
    Add(Entry),
    /// Changes of attributes, in order.
    Modify {
        /// The entry.
        dn: Dn,
        /// The changes.
        modifications: Vec<Modification>,
    },
    /// Removal of an entry.
    Delete {
        /// The entry.
        dn: Dn,
    },
    /// A new name.
    ModifyDn {
        /// The entry.
        dn: Dn,
        /// New RDN.
        new_rdn: Dn,
        /// `deleteoldrdn`.
        delete_old_rdn: bool,
        /// The new superior, which exists.
        new_superior: Option<Dn>,
    },
}
