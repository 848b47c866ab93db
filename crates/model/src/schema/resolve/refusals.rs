//! What is refused, and how OIDs are read meanwhile.

use super::super::{Schema, SchemaError, Source, definition::is_numeric_oid};

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

/// The numeric OID that a definition's OID stands for; `None` when it is a macro that nobody defined.
pub(super) fn expand(schema: &Schema, text: &str) -> Option<String> {
    if is_numeric_oid(text.as_bytes()) {
        return Some(text.to_owned());
    }
    schema.expand_oid_macro(text)
}

/// The text of an OID for publication: expanded where it can be.
pub(super) fn published(schema: &Schema, text: &str) -> String {
    expand(schema, text).unwrap_or_else(|| text.to_owned())
}
