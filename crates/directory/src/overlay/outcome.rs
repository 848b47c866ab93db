//! Before an effect is applied: the resulting entry.

use ironbark_model::{Attribute, AttributeDescription, Dn, Entry};
use ironbark_store::{Record, StoreError};

use super::Execution;
use crate::{OperationError, request::modification::Modification};

/// Inspects the result of a write, after the access rules have granted it and before the schema check. It may refuse
/// the write at no cost. It does not see attributes that the server adds to a new entry, changes that the server makes
/// by itself, or deletes.
pub trait OutcomeHooks: Send + Sync {
    /// May refuse.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn before_outcome(&self, execution: &Execution<'_, '_>, outcome: &Outcome<'_>) -> Result<(), OperationError>;
}

/// The result of a write.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    /// The name that the entry will have.
    pub name: &'a Dn,
    /// The change of the entry.
    pub change: OutcomeChange<'a>,
    pub(crate) state: &'a dyn EntryState,
}

/// A change of an entry.
#[derive(Clone, Copy)]
pub enum OutcomeChange<'a> {
    /// It is new.
    Add(&'a Entry),
    /// It is changed or renamed.
    Modify {
        /// As it is stored.
        former: &'a Record<'a>,
        /// In the order of the request; for a rename, the changes of the RDN's values. The server's own changes are
        /// included.
        modifications: &'a [Modification],
    },
}

/// The attributes of an entry that is about to be stored. Big sets are read only when needed.
pub(crate) trait EntryState {
    /// Calls `visit` with each attribute and the number of its values.
    fn each(&self, visit: &mut dyn FnMut(&AttributeDescription, usize));

    /// The number of values of an attribute.
    fn count(&self, attribute: &AttributeDescription) -> usize;

    /// Copies of the values of an attribute.
    fn values(&self, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError>;
}

impl EntryState for Entry {
    fn each(&self, visit: &mut dyn FnMut(&AttributeDescription, usize)) {
        for attribute in &self.attributes {
            visit(&attribute.description, attribute.values.len());
        }
    }

    fn count(&self, attribute: &AttributeDescription) -> usize {
        self.attribute(attribute).map_or(0, |held| held.values.len())
    }

    fn values(&self, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(self
            .attribute(attribute)
            .map_or_else(Vec::new, |held| held.values.clone()))
    }
}

impl Outcome<'_> {
    /// The number of values that an attribute will have.
    pub fn count(&self, attribute: &AttributeDescription) -> usize {
        self.state.count(attribute)
    }

    /// The values that an attribute will have.
    ///
    /// # Errors
    /// The storage failed.
    pub fn values(&self, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, OperationError> {
        Ok(self.state.values(attribute)?)
    }

    /// The entry with its wanted attributes. The cost is in proportion to the length of their values.
    ///
    /// # Errors
    /// The storage failed.
    pub fn entry(&self, is_wanted: impl Fn(&AttributeDescription) -> bool) -> Result<Entry, OperationError> {
        let mut wanted = Vec::new();
        self.state.each(&mut |attribute, _| {
            if is_wanted(attribute) {
                wanted.push(attribute.clone());
            }
        });
        let mut entry = Entry::new(self.name.clone());
        for description in wanted {
            let values = self.state.values(&description)?;
            entry.attributes.push(Attribute { description, values });
        }
        Ok(entry)
    }
}
