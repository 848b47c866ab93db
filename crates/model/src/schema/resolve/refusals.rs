//! Collects refusals, and reads OIDs while definitions are resolved.

use super::super::{Schema, SchemaError, Source, definition::is_written_oid};

/// Collects refusals.
#[derive(Default)]
pub(super) struct Refusals(pub(super) Vec<SchemaError>);

impl Refusals {
    pub(super) fn add(&mut self, source: &Source, element: impl Into<String>, reason: impl Into<String>) {
        self.0.push(SchemaError {
            source_of: source.clone(),
            element: element.into(),
            reason: reason.into(),
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
