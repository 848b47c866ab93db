//! The attributes that follow from the tree, in entries that are not stored: `entryDN` (RFC 5020), `subschemaSubentry`
//! and `hasSubordinates`.

use std::{collections::HashSet, sync::Arc};

use ironbark_model::{Attribute, AttributeDescription, Entry};

use crate::Configuration;

/// Receives description, name and value of an attribute.
type Visit<'a> = dyn FnMut(&AttributeDescription, &[u8], &[u8]) + 'a;

/// Calls `visit` for each attribute that every entry has, in slapd's order.
fn for_each(configuration: &Configuration, dn: &str, has_subordinates: bool, visit: &mut Visit<'_>) {
    let known = &configuration.well_known;
    visit(&known.entry_dn, b"entryDN", dn.as_bytes());
    let subschema = configuration.subschema.first().map_or("", |entry| entry.dn.pretty());
    visit(&known.subschema_subentry, b"subschemaSubentry", subschema.as_bytes());
    let text: &[u8] = if has_subordinates { b"TRUE" } else { b"FALSE" };
    visit(&known.has_subordinates, b"hasSubordinates", text);
}

/// Whether every entry has this attribute without holding it.
pub(crate) fn follows_from_tree(configuration: &Configuration, description: &AttributeDescription) -> bool {
    let known = &configuration.well_known;
    let computed = [&known.entry_dn, &known.subschema_subentry, &known.has_subordinates];
    computed
        .iter()
        .any(|known| known.attribute_type == description.attribute_type)
}

/// Adds `entryDN` and `subschemaSubentry` to a received entry that lacks them. `hasSubordinates` is not added, because
/// its value is not known.
pub(crate) fn complete_received(configuration: &Configuration, entry: &mut Entry) {
    let known = &configuration.well_known;
    let dn = entry.dn.pretty().to_owned();
    for_each(configuration, &dn, false, &mut |description, _, value| {
        if *description != known.has_subordinates && entry.attribute(description).is_none() {
            entry.attributes.push(Attribute {
                description: description.clone(),
                values: vec![value.to_vec()],
            });
        }
    });
}

/// Adds `entryDN`, `subschemaSubentry` and `hasSubordinates` to entries of a tree in memory that lack them. Superiors
/// come before their subordinates.
pub fn complete_entries(configuration: &Configuration, mut entries: Vec<Entry>) -> Arc<[Entry]> {
    let superiors: HashSet<Vec<u8>> = entries
        .iter()
        .filter_map(|entry| Some(entry.dn.parent()?.normalized().to_vec()))
        .collect();
    for entry in &mut entries {
        let has_subordinates = superiors.contains(entry.dn.normalized());
        let dn = entry.dn.pretty().to_owned();
        for_each(configuration, &dn, has_subordinates, &mut |description, _, value| {
            if entry.attribute(description).is_none() {
                entry.attributes.push(Attribute {
                    description: description.clone(),
                    values: vec![value.to_vec()],
                });
            }
        });
    }
    entries.into()
}
