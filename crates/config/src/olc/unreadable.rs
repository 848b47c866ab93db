//! The way back to slapd: what a client may not add to cn=config, since slapd would not read the directory then. slapd
//! itself answers so. A file, or a directory that has it already, is read all the same.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_model::{
    Schema,
    schema::{AttributeTypeDefinition, ContentRuleDefinition, ObjectClassDefinition, Usage, check_form},
};

use super::{
    former::Former,
    tree::{OlcKind, OlcNode, Tree},
};
use crate::{
    ConfigError,
    schema_statement::{SchemaKind, SchemaStatement},
    statement::ValueAge,
};

/// Settings that only a copy may have, and what slapd says of them otherwise.
const OF_COPIES: &[(&[&str], &str)] = &[
    (&["olcMultiProvider", "olcMirrorMode"], "database is not a shadow"),
    (&["olcUpdateRef"], "must appear after syncrepl or updatedn"),
];

/// Refuses what only copies may have, if a change sets it in a database that is none. As in slapd, the providers may go
/// before it.
///
/// # Errors
/// The setting.
pub(super) fn check_copies(tree: &Tree, former: &Former<'_>) -> Result<(), ConfigError> {
    let databases = tree.root.children.iter();
    for node in databases.filter(|node| node.kind() == Some(OlcKind::Database) && !is_copy(node)) {
        for (names, reason) in OF_COPIES {
            let is_set = |name: &&&str| {
                let is_on = node.texts(name).any(|text| !text.eq_ignore_ascii_case("FALSE"));
                is_on && former.value_age(node, name) == ValueAge::New
            };
            if let Some(name) = names.iter().find(is_set) {
                return Err(ConfigError::of_setting(&node.location, name, *reason));
            }
        }
    }
    Ok(())
}

fn is_copy(node: &OlcNode) -> bool {
    ["olcSyncrepl", "olcUpdateDN"]
        .iter()
        .any(|name| !node.values(name).is_empty())
}

/// Refuses definitions of a changed tree that `former` definitions, or built-in ones, make already, and new ones that
/// slapd does not read. `current`: the schema in force.
///
/// # Errors
/// The definition that is there twice, or has another form.
pub(super) fn check_definitions(
    definitions: &[SchemaStatement],
    former: &[SchemaStatement],
    current: &Schema,
) -> Result<(), ConfigError> {
    if definitions
        .iter()
        .map(|one| &one.text)
        .eq(former.iter().map(|one| &one.text))
    {
        return Ok(());
    }
    check_forms(definitions, former, current)?;
    let mut before: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for one in former {
        if let Some(key) = key(one, current) {
            *before.entry(key).or_default() += 1;
        }
    }
    let mut seen: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for one in definitions {
        let Some(key) = key(one, current) else { continue };
        let had = before.get(&key).copied().unwrap_or_default();
        let is_built_in = had == 0 && is_built_in(one.kind, &key.1, current);
        let count = seen.entry(key.clone()).or_insert(usize::from(is_built_in));
        *count += 1;
        if *count > had.max(1) {
            let text = format!("Duplicate {}: \"{}\"", key.0, key.1);
            return Err(ConfigError::of_setting(&one.location, key.0, text));
        }
    }
    Ok(())
}

/// Refuses new definitions that slapd does not read.
fn check_forms(
    definitions: &[SchemaStatement],
    former: &[SchemaStatement],
    current: &Schema,
) -> Result<(), ConfigError> {
    let before: BTreeSet<&str> = former.iter().map(|one| one.text.as_str()).collect();
    let places = places(definitions, current);
    for (place, one) in definitions.iter().enumerate() {
        if before.contains(one.text.as_str()) {
            continue;
        }
        let refused = |reason: String| ConfigError::Definition {
            location: one.location.clone(),
            reason,
        };
        if !matches!(one.kind, SchemaKind::ObjectIdentifier | SchemaKind::AttributeOptions) {
            let is_class = one.kind == SchemaKind::ObjectClass;
            check_form(&one.text, is_class).map_err(|error| refused(error.to_string()))?;
        }
        if let Some(reason) = contradiction(one, definitions) {
            return Err(refused(reason));
        }
        for (kind, name) in references(one) {
            let is_behind = places
                .get(&(kind, name.to_ascii_lowercase()))
                .is_some_and(|at| *at >= place);
            if is_behind && !is_built_in(kind, &name, current) {
                let element = if kind == SchemaKind::ObjectClass {
                    "ObjectClass"
                } else {
                    "AttributeType"
                };
                return Err(refused(format!("{element} not found: \"{name}\"")));
            }
        }
    }
    Ok(())
}

/// Where each attribute type and class is defined first, by its OID and names in lower case.
fn places(definitions: &[SchemaStatement], current: &Schema) -> BTreeMap<(SchemaKind, String), usize> {
    let mut places = BTreeMap::new();
    for (place, one) in definitions.iter().enumerate() {
        let common = match one.kind {
            SchemaKind::AttributeType => AttributeTypeDefinition::parse(&one.text).map(|found| found.common),
            SchemaKind::ObjectClass => ObjectClassDefinition::parse(&one.text).map(|found| found.common),
            _ => continue,
        };
        let Ok(common) = common else { continue };
        let oid = current
            .expand_oid_macro(&common.oid)
            .unwrap_or_else(|| common.oid.to_string());
        let names = common.names.iter().map(|name| name.to_ascii_lowercase());
        for name in names.chain([oid]) {
            places.entry((one.kind, name)).or_insert(place);
        }
    }
    places
}

/// The attribute types and classes that a definition names. slapd reads definitions one after the other.
fn references(definition: &SchemaStatement) -> Vec<(SchemaKind, Box<str>)> {
    let of = |kind: SchemaKind, names: Vec<Box<str>>| names.into_iter().map(move |name| (kind, name));
    match definition.kind {
        SchemaKind::AttributeType => match AttributeTypeDefinition::parse(&definition.text) {
            Ok(found) => of(SchemaKind::AttributeType, found.superior.into_iter().collect()).collect(),
            Err(_) => Vec::new(),
        },
        SchemaKind::ObjectClass => match ObjectClassDefinition::parse(&definition.text) {
            Ok(found) => of(SchemaKind::ObjectClass, found.superiors)
                .chain(of(SchemaKind::AttributeType, found.must))
                .chain(of(SchemaKind::AttributeType, found.may))
                .collect(),
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What slapd refuses of a definition that has its form.
fn contradiction(definition: &SchemaStatement, all: &[SchemaStatement]) -> Option<String> {
    let common = match definition.kind {
        SchemaKind::AttributeType => {
            let found = AttributeTypeDefinition::parse(&definition.text).ok()?;
            if found.usage != Usage::UserApplications {
                return Some(format!("\"{}\" is operational", found.common.oid));
            }
            if found.no_user_modification {
                return Some("NO-USER-MODIFICATION needs another USAGE than userApplications".to_owned());
            }
            found.common
        }
        SchemaKind::ObjectClass => ObjectClassDefinition::parse(&definition.text).ok()?.common,
        SchemaKind::DitContentRule => {
            let common = ContentRuleDefinition::parse(&definition.text).ok()?.common;
            let name = common.oid.split(':').next().unwrap_or_default();
            let is_macro = |one: &SchemaStatement| {
                one.kind == SchemaKind::ObjectIdentifier && one.text.split_whitespace().next() == Some(name)
            };
            // The name of a class is no OID.
            if !name.starts_with(|c: char| c.is_ascii_digit()) && !all.iter().any(is_macro) {
                return Some(format!("OID could not be expanded: \"{}\"", common.oid));
            }
            common
        }
        SchemaKind::LdapSyntax | SchemaKind::ObjectIdentifier | SchemaKind::AttributeOptions => return None,
    };
    let mut names = BTreeSet::new();
    let repeated = common
        .names
        .iter()
        .find(|name| !names.insert(name.to_ascii_lowercase()))?;
    Some(format!("the name \"{repeated}\" is given twice"))
}

/// The kind of an element in slapd's words, and its OID.
fn key(definition: &SchemaStatement, current: &Schema) -> Option<(&'static str, String)> {
    let kind = match definition.kind {
        SchemaKind::AttributeType => "attributeType",
        SchemaKind::ObjectClass => "objectClass",
        SchemaKind::LdapSyntax => "ldapSyntax",
        SchemaKind::DitContentRule => "Content Rule",
        // The same macro may stand there twice.
        SchemaKind::ObjectIdentifier | SchemaKind::AttributeOptions => return None,
    };
    let text = definition.text.trim_start_matches(['"', '(', ' ', '\t']);
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '\''));
    let oid = text.get(..end.unwrap_or(text.len()))?;
    Some((kind, current.expand_oid_macro(oid).unwrap_or_else(|| oid.to_owned())))
}

/// Whether it is the server's own, and in use.
fn is_built_in(kind: SchemaKind, oid: &str, current: &Schema) -> bool {
    match kind {
        SchemaKind::AttributeType => current
            .find_attribute_type(oid.as_bytes())
            .is_some_and(|known| known.built_in && !known.hidden),
        SchemaKind::ObjectClass => current
            .find_object_class(oid.as_bytes())
            .is_some_and(|known| known.built_in && !known.hidden),
        SchemaKind::LdapSyntax => current.find_syntax(oid).is_some_and(|known| known.oid == oid),
        SchemaKind::DitContentRule | SchemaKind::ObjectIdentifier | SchemaKind::AttributeOptions => false,
    }
}
