//! A request as its client made it, for followers that log it.

use super::{Effect, TextAttribute, ValueChange};

/// Where a request came from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestFacts {
    /// Connection number.
    pub connection: u64,
    /// Number of the operation on its connection.
    pub operation: u64,
    /// The client's address as the log prints it (`IP=...`).
    pub peer_name: Box<str>,
    /// Controls of the request.
    pub controls: Vec<RequestedControl>,
}

/// A control of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestedControl {
    /// Its OID.
    pub oid: Box<str>,
    /// Whether it is critical.
    pub critical: bool,
}

/// A change as its client asked for it, after its names and values were checked. It includes operational attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestedChange {
    /// The effect with this number, from 0: for adds and deletes.
    AsApplied(usize),
    /// Add, with the whole entry.
    Add {
        /// The entry's name, pretty form.
        dn: Box<str>,
        /// Its attributes.
        attributes: Vec<TextAttribute>,
    },
    /// Modify; also password modify.
    Modify {
        /// The entry's name in the request, pretty form.
        dn: Box<str>,
        /// The changes in order.
        modifications: Vec<RequestedModification>,
    },
    /// Modify DN.
    ModifyDn {
        /// The entry's name in the request, pretty form.
        dn: Box<str>,
        /// New RDN, pretty form.
        new_rdn: Box<str>,
        /// `deleteoldrdn`.
        delete_old_rdn: bool,
        /// New superior, pretty form.
        new_superior: Option<Box<str>>,
    },
    /// Delete.
    Delete {
        /// The entry's name, pretty form.
        dn: Box<str>,
    },
    /// No change: what the entry of the change before it was, as far as a follower wants it.
    Former {
        /// The entry's name, pretty form.
        dn: Box<str>,
        /// Its attributes.
        attributes: Vec<TextAttribute>,
    },
}

impl RequestedChange {
    /// The entry's name in the request, if it has one.
    pub(crate) fn dn(&self) -> Option<&str> {
        match self {
            Self::AsApplied(_) => None,
            Self::Add { dn, .. }
            | Self::Modify { dn, .. }
            | Self::ModifyDn { dn, .. }
            | Self::Delete { dn }
            | Self::Former { dn, .. } => Some(dn),
        }
    }
}

/// One change of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestedModification {
    /// What is done.
    pub kind: RequestedKind,
    /// The attribute.
    pub attribute: Box<str>,
    /// Values.
    pub values: Vec<Vec<u8>>,
}

impl From<&ValueChange> for RequestedModification {
    fn from(change: &ValueChange) -> Self {
        let kind = match change {
            ValueChange::Add { .. } => RequestedKind::Add,
            ValueChange::Delete { .. } => RequestedKind::Delete,
            ValueChange::Replace { .. } => RequestedKind::Replace,
        };
        Self {
            kind,
            attribute: change.attribute().into(),
            values: change.values().to_vec(),
        }
    }
}

impl Effect {
    /// The effect as a request of its own. A rename deletes the values of the old RDN.
    pub fn as_request(&self) -> RequestedChange {
        match self {
            Self::Add { dn, attributes } => RequestedChange::Add {
                dn: dn.clone(),
                attributes: attributes.clone(),
            },
            Self::Modify { dn, changes } => RequestedChange::Modify {
                dn: dn.clone(),
                modifications: changes.iter().map(Into::into).collect(),
            },
            Self::Rename { dn, new_dn, .. } => {
                let (rdn, superior) = split(new_dn);
                let (_, former) = split(dn);
                RequestedChange::ModifyDn {
                    dn: dn.clone(),
                    new_rdn: rdn.into(),
                    delete_old_rdn: true,
                    new_superior: (superior != former).then(|| superior.into()),
                }
            }
            Self::Delete { dn } => RequestedChange::Delete { dn: dn.clone() },
        }
    }
}

/// The first RDN of a name, and the rest.
fn split(dn: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, byte) in dn.bytes().enumerate() {
        if byte == b',' && !is_escaped {
            return (dn.get(..at).unwrap_or(dn), dn.get(at + 1..).unwrap_or_default());
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    (dn, "")
}

/// What a [`RequestedModification`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestedKind {
    /// Adds the values.
    Add,
    /// Deletes the values, or the whole attribute if there are none.
    Delete,
    /// Replaces all values.
    Replace,
    /// Adds a number to each value (RFC 4525).
    Increment,
}
