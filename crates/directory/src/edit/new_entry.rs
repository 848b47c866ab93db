//! A new entry: its attributes as requested, what its name and the server add, and the check of the schema.

use std::collections::HashMap;

use ironbark_model::{
    Attribute, AttributeDescription, Dn, Entry, Schema,
    schema::entry_check::{self, CheckedAttribute},
};
use ironbark_store::change::RequestedChange;

use super::{checks, entry_rules};
use crate::{
    OperationError,
    overlay::{Execution, overlays_of},
    refusal::{AddRefusal, Failure},
    request::modification::{Modification, normal_form},
};

/// The entry as requested. Values of an attribute that is named more than once are joined.
pub(crate) fn entry_of(dn: Dn, modifications: &[Modification]) -> Entry {
    let mut entry = Entry::new(dn);
    let mut places: HashMap<&AttributeDescription, usize> = HashMap::new();
    for modification in modifications {
        let place = *places
            .entry(&modification.description)
            .or_insert(entry.attributes.len());
        match entry.attributes.get_mut(place) {
            Some(attribute) => attribute.values.extend_from_slice(&modification.values),
            None => entry.attributes.push(Attribute {
                description: modification.description.clone(),
                values: modification.values.clone(),
            }),
        }
    }
    entry
}

/// slapd merges repeated attributes first and refuses them after its other checks.
pub(crate) fn refuse_repetition(schema: &Schema, modifications: &[Modification]) -> Result<(), AddRefusal> {
    let mut seen: Vec<&AttributeDescription> = modifications
        .iter()
        .map(|modification| &modification.description)
        .collect();
    seen.sort_unstable();
    let repeated = seen.windows(2).find_map(|pair| match pair {
        [first, second] if first == second => Some(*first),
        _ => None,
    });
    match repeated {
        None => Ok(()),
        Some(description) => Err(AddRefusal::RepeatedAttribute {
            attribute: schema.description_text(description),
        }),
    }
}

/// Adds values of the RDN that the request leaves out (RFC 4511 §4.7). Returns the attributes that this adds. A
/// single-valued attribute keeps its value; the check of the schema then refuses the entry.
pub(crate) fn add_naming_values(
    schema: &Schema,
    entry: &mut Entry,
) -> Result<Vec<AttributeDescription>, OperationError> {
    let mut added = Vec::new();
    entry_check::check_naming_types(schema, &entry.dn)?;
    for (description, value) in entry.dn.leaf_assertions(schema) {
        let attribute_type = schema.attribute_type(description.attribute_type);
        let normal = normal_form(schema, &description, &value);
        match entry.attribute_mut(&description) {
            None => {
                added.push(description.clone());
                entry.attributes.push(Attribute {
                    description,
                    values: vec![value],
                });
            }
            Some(attribute) => {
                let is_there = has_value(schema, attribute, &normal);
                if !is_there && !attribute_type.single_value {
                    attribute.values.push(value);
                }
            }
        }
    }
    Ok(added)
}

/// Checks an entry against the schema and adds the server's own attributes. These are added even if the check fails.
pub(crate) fn complete(
    execution: &Execution<'_, '_>,
    entry: &mut Entry,
    named: &[AttributeDescription],
) -> Result<(), OperationError> {
    let checked = add_structural_class(execution, entry);
    put_last(entry, named);
    add_operational(execution, entry)?;
    checked
}

/// Gives an entry the attributes of its RDN that it lacks as a whole (RFC 4511 §4.7).
pub(crate) fn name(schema: &Schema, entry: &mut Entry) {
    for (description, value) in entry.dn.leaf_assertions(schema) {
        if entry.attribute(&description).is_none() {
            let values = vec![value];
            entry.attributes.push(Attribute { description, values });
        }
    }
}

/// A new entry as the log records the request for it.
pub(crate) fn requested(schema: &Schema, entry: &Entry) -> RequestedChange {
    let attributes = entry.attributes.iter().map(|attribute| {
        let name = schema.description_text(&attribute.description);
        (name.into(), attribute.values.clone())
    });
    RequestedChange::Add {
        dn: entry.dn.pretty().into(),
        attributes: attributes.collect(),
    }
}

fn has_value(schema: &Schema, attribute: &Attribute, normal: &[u8]) -> bool {
    let mut values = attribute.values.iter();
    values.any(|known| normal_form(schema, &attribute.description, known) == normal)
}

/// slapd adds the structural class to an entry before the attributes that only the name adds.
fn put_last(entry: &mut Entry, named: &[AttributeDescription]) {
    for description in named {
        let attribute = entry.remove_attribute(description);
        entry.attributes.extend(attribute);
    }
}

/// Checks the entry against the schema and adds its structural class.
fn add_structural_class(execution: &Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
    let schema = execution.schema();
    let known = &execution.configuration.well_known;
    let attributes: Vec<CheckedAttribute<'_>> = entry.attributes.iter().map(CheckedAttribute::from).collect();
    let classes = entry
        .attribute(&known.object_class)
        .map_or(&[][..], |attribute| &attribute.values);
    let checked = entry_rules::Checked {
        name: &entry.dn,
        classes,
        attributes: &attributes,
        former: entry_rules::Former::Nothing,
        relax: execution.is_relaxed(),
        may_be_dynamic: overlays_of(execution.context).keeps_dynamic_entries(),
    };
    let holds = |description: &AttributeDescription, normal: &[u8]| {
        let attribute = entry.attribute(description);
        Ok(attribute.is_some_and(|attribute| has_value(schema, attribute, normal)))
    };
    let structural = entry_rules::check(schema, &checked, &holds)?;
    let name = schema.object_class(structural).name().as_bytes().to_vec();
    add_if_absent(entry, &known.structural_object_class, name);
    Ok(())
}

/// Adds the server's own attributes to a new entry, except those that a manager has set under relaxed rules.
fn add_operational(execution: &Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
    if !execution.context.settings.last_modified {
        return Ok(());
    }
    let known = &execution.configuration.well_known;
    if entry.attribute(&known.entry_uuid).is_none() {
        let uuid = execution.directory.randomness().uuid_v4().map_err(|error| {
            tracing::error!(target: "any", "making an entryUUID: {error}");
            Failure::Internal
        })?;
        add_if_absent(entry, &known.entry_uuid, uuid.to_string().into_bytes());
    }
    let author = checks::author(execution);
    let stamp = &execution.stamp;
    add_if_absent(entry, &known.creators_name, author.into());
    add_if_absent(entry, &known.create_timestamp, stamp.time.as_str().into());
    add_if_absent(entry, &known.entry_csn, stamp.csn.as_str().into());
    add_if_absent(entry, &known.modifiers_name, author.into());
    add_if_absent(entry, &known.modify_timestamp, stamp.time.as_str().into());
    Ok(())
}

fn add_if_absent(entry: &mut Entry, description: &AttributeDescription, value: Vec<u8>) {
    if entry.attribute(description).is_none() {
        entry.attributes.push(Attribute {
            description: description.clone(),
            values: vec![value],
        });
    }
}
