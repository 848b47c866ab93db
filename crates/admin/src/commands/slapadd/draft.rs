//! An entry on its way from LDIF into a database. Its values are borrowed from the block of the input.

use std::borrow::Cow;

use ironbark_model::{Attribute, AttributeDescription, Dn, Entry, Schema, schema::TypeNumber};
use smallvec::{SmallVec, smallvec};

/// One value.
pub(super) type Value<'b> = Cow<'b, [u8]>;

/// An attribute with its values in the order in which they were added; not empty.
#[derive(Debug)]
pub(super) struct DraftAttribute<'b> {
    pub(super) description: AttributeDescription,
    pub(super) values: SmallVec<[Value<'b>; 1]>,
}

/// The entry. It has at most one attribute for each description.
#[derive(Debug)]
pub(super) struct Draft<'b> {
    pub(super) dn: Dn,
    attributes: Vec<DraftAttribute<'b>>,
    /// The types of `attributes`, side by side: descriptions are looked up for most lines of the input.
    types: Vec<TypeNumber>,
}

/// The number of attributes that the memory has room for at first.
const USUAL: usize = 64;

impl<'b> Draft<'b> {
    pub(super) fn new(dn: Dn) -> Self {
        Self {
            dn,
            attributes: Vec::with_capacity(USUAL),
            types: Vec::with_capacity(USUAL),
        }
    }

    pub(super) fn attributes(&self) -> &[DraftAttribute<'b>] {
        &self.attributes
    }

    fn position(&self, description: &AttributeDescription) -> Option<usize> {
        let is = |at: usize| {
            self.attributes
                .get(at)
                .is_some_and(|found| found.description == *description)
        };
        let last = self.attributes.len().checked_sub(1).filter(|&at| is(at));
        last.or_else(|| {
            let types = self.types.iter().enumerate();
            types
                .filter(|(_, number)| **number == description.attribute_type)
                .map(|(at, _)| at)
                .find(|&at| is(at))
        })
    }

    /// The values of exactly this description.
    pub(super) fn values(&self, description: &AttributeDescription) -> Option<&[Value<'b>]> {
        let found = self.attributes.get(self.position(description)?)?;
        Some(&found.values)
    }

    /// Adds a value after the others.
    pub(super) fn push(&mut self, description: &AttributeDescription, value: Value<'b>) {
        if let Some(found) = self.position(description).and_then(|at| self.attributes.get_mut(at)) {
            found.values.push(value);
            return;
        }
        self.types.push(description.attribute_type);
        self.attributes.push(DraftAttribute {
            description: description.clone(),
            values: smallvec![value],
        });
    }

    /// Whether the attribute has the value, by its equality rule.
    pub(super) fn has(&self, schema: &Schema, description: &AttributeDescription, value: &[u8]) -> bool {
        let found = self.position(description).and_then(|at| self.attributes.get(at));
        found.is_some_and(|found| {
            found.values.iter().any(|known| **known == *value) || found.to_attribute().find(schema, value).is_some()
        })
    }

    /// Replaces the values of an attribute, in its place if it exists. No values remove the attribute.
    pub(super) fn set(&mut self, description: &AttributeDescription, values: SmallVec<[Value<'b>; 1]>) {
        match self.position(description) {
            Some(at) if values.is_empty() => {
                self.attributes.remove(at);
                self.types.remove(at);
            }
            Some(at) => {
                if let Some(found) = self.attributes.get_mut(at) {
                    found.values = values;
                }
            }
            None => values.into_iter().for_each(|value| self.push(description, value)),
        }
    }

    /// A copy that borrows nothing.
    pub(super) fn to_entry(&self) -> Entry {
        Entry {
            dn: self.dn.clone(),
            attributes: self.attributes.iter().map(DraftAttribute::to_attribute).collect(),
        }
    }
}

impl DraftAttribute<'_> {
    fn to_attribute(&self) -> Attribute {
        Attribute {
            description: self.description.clone(),
            values: self.values.iter().map(|value| value.to_vec()).collect(),
        }
    }
}
