//! Values of entries and their normal forms.

use std::collections::HashSet;

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

/// Appends the values that are not there yet, each once, octet by octet.
pub(crate) fn join(values: &mut Vec<Vec<u8>>, more: Vec<Vec<u8>>) {
    if more.is_empty() {
        return;
    }
    let mut known: HashSet<Vec<u8>> = values.iter().cloned().collect();
    values.extend(more.into_iter().filter(|value| known.insert(value.clone())));
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn joined_values_stand_once_in_their_order() {
        let value = |text: &str| text.as_bytes().to_vec();
        let mut values = vec![value("b"), value("a")];
        join(&mut values, vec![value("c"), value("a"), value("c"), value("B")]);
        assert_eq!(values, [value("b"), value("a"), value("c"), value("B")]);
    }
}
