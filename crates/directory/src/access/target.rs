//! The target of an access check: an entry, one of its attributes, one of their values.

use ironbark_model::{AttributeDescription, Entry, Schema, budget::cost_of};
use ironbark_store::{Record, View};

/// The source of the entry.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Record(&'a Record<'a>, View<'a>),
    Memory(&'a Entry),
}

/// The target of an access check.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// The `entry` pseudo-attribute.
    Entry,
    /// The `children` pseudo-attribute.
    Children,
    /// An attribute, or one value of it.
    Attribute(&'a AttributeDescription, Option<&'a [u8]>),
    /// An attribute and the normal form of a value that a filter asserts.
    Asserted(&'a AttributeDescription, &'a [u8]),
}

impl<'a> Target<'a> {
    pub(super) fn attribute(self) -> Option<&'a AttributeDescription> {
        match self {
            Self::Attribute(description, _) | Self::Asserted(description, _) => Some(description),
            Self::Entry | Self::Children => None,
        }
    }

    pub(super) fn value(self) -> Value<'a> {
        match self {
            Self::Attribute(description, Some(value)) => Value::Plain(description, value),
            Self::Asserted(description, value) => Value::Normalized(description, value),
            Self::Entry | Self::Children | Self::Attribute(_, None) => Value::None,
        }
    }
}

/// Which values of an attribute are readable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readable {
    /// All or none, in all entries of the kind.
    Alike(bool),
    /// All or none, in this entry.
    Here(bool),
    /// Each value must be decided on its own.
    ByValue,
}

/// A value in an access check, in the form that patterns see.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'v> {
    None,
    /// As stored or sent.
    Plain(&'v AttributeDescription, &'v [u8]),
    /// The normal form of an assertion by the attribute's own rule.
    Normalized(&'v AttributeDescription, &'v [u8]),
}

impl<'v> Value<'v> {
    /// Steps for looking at it.
    pub(super) fn cost(self) -> u64 {
        match self {
            Self::None => 1,
            Self::Plain(_, value) | Self::Normalized(_, value) => cost_of(value),
        }
    }

    pub(super) fn description(self) -> Option<&'v AttributeDescription> {
        match self {
            Self::None => None,
            Self::Plain(description, _) | Self::Normalized(description, _) => Some(description),
        }
    }

    /// Normal form by the attribute's own rule; the value itself if there is no rule.
    pub(super) fn normalized(self, schema: &Schema) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Normalized(_, normal) => Some(normal.to_vec()),
            Self::Plain(description, plain) => {
                let mut normal = Vec::new();
                let rule = schema.attribute_type(description.attribute_type).equality;
                let is_made = rule.is_some_and(|rule| (rule.normalize_value)(schema, plain, &mut normal).is_ok());
                Some(if is_made { normal } else { plain.to_vec() })
            }
        }
    }

    /// The form that patterns and sets see: the normal form, as authors of rules write it. Where slapd has no normal
    /// form, the value itself.
    pub(super) fn text(self, schema: &Schema) -> Option<Vec<u8>> {
        let rule = self
            .description()
            .and_then(|description| schema.attribute_type(description.attribute_type).equality);
        match (self, rule) {
            (Self::Plain(_, plain), Some(rule)) if rule.reads_values_as_they_are() => Some(plain.to_vec()),
            (_, Some(rule)) => Some(rule.written(schema, self.normalized(schema)?)),
            (_, None) => self.normalized(schema),
        }
    }
}
