//! An entry in memory, as LDIF, add requests, virtual contexts and change records hold it.

use crate::{AttributeDescription, Dn};

/// One attribute of an entry: values in the order in which they were added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Type and options.
    pub description: AttributeDescription,
    /// Values as they came in (not normalized); not empty.
    pub values: Vec<Vec<u8>>,
}

/// An entry: a name and attributes in the order in which they were added.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name.
    pub dn: Dn,
    /// At most one attribute per description.
    pub attributes: Vec<Attribute>,
}
