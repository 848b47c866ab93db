//! Settings that name attributes whose values are names.

use ironbark_config::{SettingError, Statement};
use ironbark_model::syntax::oid;

/// The argument, an attribute whose values are names; as the schema prints it.
///
/// # Errors
/// The schema lacks it, or its values are no names.
pub(crate) fn name_attribute(statement: &Statement<'_>) -> Result<String, SettingError> {
    let name = statement.one()?;
    let schema = statement.schema;
    let description = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("\"{name}\": {error}"))?;
    let syntax = schema.attribute_type(description.attribute_type).syntax;
    if ![oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&syntax.oid) {
        return Err(format!("attribute \"{name}\" must have DN or nameUID syntax").into());
    }
    Ok(schema.description_text(&description))
}
