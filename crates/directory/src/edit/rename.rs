//! A new RDN: what it changes in its entry.

use ironbark_model::{AttributeDescription, Dn, Schema, schema::entry_check};

use crate::{
    OperationError,
    refusal::ModifyDnRefusal,
    request::modification::{Authority, Modification, ModificationKind, normal_form},
};

/// The changes of the entry's attributes that the new RDN requires: values of the old RDN are deleted (if requested),
/// those of the new one are added.
///
/// # Errors
/// `namingViolation`, `inappropriateMatching` and their like: the RDN cannot be one.
pub(crate) fn modifications_of(
    schema: &Schema,
    dn: &Dn,
    new_rdn: &Dn,
    delete_old_rdn: bool,
) -> Result<Vec<Modification>, OperationError> {
    let change = |kind, description: &AttributeDescription, value: Vec<u8>| {
        let normalized = vec![normal_form(schema, description, &value)];
        Modification {
            kind,
            description: description.clone(),
            name: schema.description_text(description),
            values: vec![value],
            normalized,
            authority: Authority::Client,
        }
    };
    let mut modifications = Vec::new();
    entry_check::check_naming_types(schema, new_rdn)?;
    for (description, value) in new_rdn.leaf_assertions(schema) {
        if schema.attribute_type(description.attribute_type).equality.is_none() {
            return Err(ModifyDnRefusal::NoEqualityRule.into());
        }
        modifications.push(change(ModificationKind::AddIfAbsent, &description, value));
    }
    if delete_old_rdn {
        for (description, value) in dn.leaf_assertions(schema) {
            // An entry that was set aside is named by its entryUUID, and keeps it.
            if schema.attribute_type(description.attribute_type).no_user_modification {
                continue;
            }
            modifications.push(change(ModificationKind::Delete, &description, value));
        }
    }
    // slapd puts each change in front of the earlier ones.
    modifications.reverse();
    Ok(modifications)
}
