//! The change record: what one write did, in resolved effects (DESIGN §9). One per committed write operation.
//!
//! Applying a record is deterministic and needs no schema check, clock, randomness, configuration or access control.
//! Names and attribute descriptions are text, so that a record can be read on a server with another numbering.

mod codec;

/// One write operation, resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeRecord {
    /// `entryCSN` of the change; order of records.
    pub csn: Box<str>,
    /// Who: normalized authorization DN, empty for anonymous or internal.
    pub author: Box<str>,
    /// The operation that the client asked for.
    pub kind: ChangeKind,
    /// Effects in the order of application. The first is the operation's own; the rest are those of overlays.
    pub effects: Vec<Effect>,
}

/// The operation behind a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Add.
    Add,
    /// Delete.
    Delete,
    /// Modify (password modify included).
    Modify,
    /// Modify DN.
    ModifyDn,
}

/// One change of one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A new entry.
    Add {
        /// Final DN, pretty form.
        dn: Box<str>,
        /// All attributes, operational ones included, in stored order.
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
    },
    /// Attribute changes.
    Modify {
        /// DN at this point.
        dn: Box<str>,
        /// In order.
        changes: Vec<ValueChange>,
    },
    /// A new name, and the attribute changes that come with it (RDN values, timestamps).
    Rename {
        /// DN before.
        dn: Box<str>,
        /// DN after, pretty form.
        new_dn: Box<str>,
        /// In order.
        changes: Vec<ValueChange>,
    },
    /// The entry goes. It has no subordinates at this point.
    Delete {
        /// DN.
        dn: Box<str>,
        /// Its entryUUID, for consumers.
        entry_uuid: Box<str>,
    },
}

/// A change of one attribute's value set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueChange {
    /// Appends values; a new attribute goes to the end of the entry. None of them is there already.
    Add {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
    /// Removes values by equality of normal forms; all are there. An attribute without values disappears.
    Delete {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
    /// Removes the attribute if it is there and, unless `values` is empty, adds it anew at the end of the entry.
    Replace {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
}
