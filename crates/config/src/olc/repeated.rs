//! The way back to slapd: a client does not define an element of the schema a second time. slapd answers so, and does
//! not read a directory that has two definitions. A file, or a directory that has them already, is read all the same.

use std::collections::BTreeMap;

use ironbark_model::Schema;

use crate::{
    ConfigError,
    schema_statement::{SchemaKind, SchemaStatement},
};

/// Refuses definitions of a changed tree that `former` definitions, or built-in ones, make already. `current`: the
/// schema in force.
///
/// # Errors
/// The definition that is there twice.
pub(super) fn check(
    definitions: &[SchemaStatement],
    former: &[SchemaStatement],
    current: &Schema,
) -> Result<(), ConfigError> {
    let texts = |all: &[SchemaStatement]| all.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    if texts(definitions) == texts(former) {
        return Ok(());
    }
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
            return Err(ConfigError::Definition {
                location: one.location.clone(),
                reason: format!("Duplicate {}: \"{}\"", key.0, key.1),
            });
        }
    }
    Ok(())
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
