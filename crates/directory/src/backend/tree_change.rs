//! A change as one is asked for it that is no store: a tree in memory, a program.

use ironbark_model::{Dn, Entry};

use crate::request::modification::Modification;

/// A change of a tree in memory. The names of modify, delete and modify DN are those of the entries; others are as the
/// client wrote them.
#[allow(clippy::large_enum_variant, reason = "one for each request, and passed by reference")]
#[derive(Clone, PartialEq, Debug)]
pub enum TreeChange {
    /// An entry as the client gave it, without operational attributes; its superior exists.
    Add(Entry),
    /// Changes of attributes, in order.
    Modify {
        /// The entry.
        dn: Dn,
        /// What changes.
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
        /// New superior, which exists.
        new_superior: Option<Dn>,
    },
}
