//! Collects refusals, and reads OIDs while definitions are resolved.

use std::fmt;

use super::super::{Schema, SchemaError, Source, definition::is_written_oid};

/// Why a definition is refused, mostly in the words of slapd. Names stand as they are written.
#[derive(Debug, thiserror::Error)]
pub(super) enum RefusalReason {
    #[error("OID could not be expanded: \"{0}\"")]
    UnknownOid(Box<str>),
    #[error("AttributeType not found: \"{0}\"")]
    UnknownAttributeType(Box<str>),
    #[error("ObjectClass not found: \"{0}\"")]
    UnknownObjectClass(Box<str>),
    #[error("Syntax not found: \"{0}\"")]
    UnknownSyntax(Box<str>),
    #[error("MatchingRule not found: \"{0}\"")]
    UnknownMatchingRule(Box<str>),
    #[error("AttributeType SYNTAX or SUPerior required")]
    NoSyntax,
    #[error("AttributeType inappropriate USAGE: differs from that of \"{0}\"")]
    UsageOfSuperior(Box<str>),
    #[error("AttributeType inappropriate USAGE: a collective attribute is of userApplications")]
    CollectiveUsage,
    #[error("AttributeType inappropriate USAGE: a collective attribute has many values")]
    CollectiveSingleValue,
    #[error("is not COLLECTIVE unlike its superior \"{0}\"")]
    NotCollective(Box<str>),
    #[error("AttributeType inappropriate matching rule: \"{0}\" without EQUALITY")]
    OrderingAlone(Box<str>),
    #[error("AttributeType inappropriate matching rule: \"{0}\"")]
    WrongMatchingRule(Box<str>),
    #[error("ContentRule inappropriate ObjectClass: \"{0}\"")]
    WrongObjectClass(Box<str>),
    #[error("inconsistent duplicate of the content rule of this class")]
    DuplicateContentRule,
    /// `kind` is that of the element, as `attribute type`.
    #[error("inconsistent duplicate of {kind} {name}")]
    Duplicate { kind: &'static str, name: String },
    #[error("name \"{name}\" is taken by the {kind} with OID {oid}")]
    NameTaken {
        name: Box<str>,
        kind: &'static str,
        oid: Box<str>,
    },
}

/// Collects refusals.
#[derive(Default)]
pub(super) struct Refusals(pub(super) Vec<SchemaError>);

impl Refusals {
    pub(super) fn add(&mut self, source: &Source, element: impl Into<String>, reason: impl fmt::Display) {
        self.0.push(SchemaError {
            source_of: source.clone(),
            element: element.into(),
            reason: reason.to_string(),
        });
    }
}

/// The numeric OID of a definition; `None` when its OID is an undefined macro.
pub(super) fn expand(schema: &Schema, text: &str) -> Option<String> {
    if is_written_oid(text.as_bytes()) {
        return Some(text.to_owned());
    }
    schema.expand_oid_macro(text)
}

/// The text of an OID for publication: expanded if possible.
pub(super) fn published(schema: &Schema, text: &str) -> String {
    expand(schema, text).unwrap_or_else(|| text.to_owned())
}
