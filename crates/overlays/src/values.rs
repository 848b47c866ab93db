//! Values of entries and their normal forms.

use ironbark_model::{AttributeDescription, Schema};
use ironbark_store::{Record, StoreError};

/// The stored values of exactly this description.
///
/// # Errors
/// The storage failed.
pub(crate) fn stored(record: &Record<'_>, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
    match record.values(attribute) {
        Some(held) => Ok(held.to_attribute()?.values),
        None => Ok(Vec::new()),
    }
}

/// The normal form of a value; the value, if it has none.
pub(crate) fn normal(schema: &Schema, attribute: &AttributeDescription, value: &[u8]) -> Vec<u8> {
    let mut normal = Vec::new();
    match schema.attribute_type(attribute.attribute_type).equality {
        Some(rule) if (rule.normalize_value)(schema, value, &mut normal).is_ok() => normal,
        _ => value.to_vec(),
    }
}
