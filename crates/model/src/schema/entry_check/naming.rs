//! Rules of the name of an entry, with slapd's diagnostic texts.

use super::EntryError;
use crate::{AttributeDescription, Dn, ResultCode, Schema};

/// Refuses a new name with an attribute type that is allowed only in names of the configuration.
///
/// # Errors
/// `undefinedAttributeType`.
pub fn check_naming_types(schema: &Schema, name: &Dn) -> Result<(), EntryError> {
    if name.has_unknown_leaf_type(schema) {
        return Err(EntryError {
            result_code: ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            diagnostic_message: "attribute type undefined (in RDN)".to_owned(),
        });
    }
    Ok(())
}

/// Refuses an attribute of the RDN that may not name entries at all. `relax`: the Relax Rules control is in force.
///
/// # Errors
/// `namingViolation`.
pub fn check_naming_attribute(
    schema: &Schema,
    description: &AttributeDescription,
    relax: bool,
) -> Result<(), EntryError> {
    match schema.attribute_type(description.attribute_type).naming_fault(relax) {
        Some(fault) => {
            let name = schema.description_text(description);
            Err(naming_violation(format!("naming attribute '{name}' {fault}")))
        }
        None => Ok(()),
    }
}

/// The refusal of an entry whose name has another value of a single-valued attribute than the entry.
pub fn naming_value_conflict(schema: &Schema, description: &AttributeDescription) -> EntryError {
    let name = schema.description_text(description);
    naming_violation(format!(
        "value of single-valued naming attribute '{name}' conflicts with value present in entry"
    ))
}

fn naming_violation(diagnostic_message: String) -> EntryError {
    EntryError {
        result_code: ResultCode::NAMING_VIOLATION,
        diagnostic_message,
    }
}
