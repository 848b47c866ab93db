//! objectIdentifierFirstComponentMatch, integerFirstComponentMatch and directoryStringFirstComponentMatch
//! (RFC 4517 §4.2.25, §4.2.18, §4.2.13): the first component of a schema definition is compared.

use super::{MatchingRule, integers, object_identifiers, strings};
use crate::{
    Schema,
    syntax::{InvalidValue, control, oid},
};

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::equality(
        "2.5.13.31",
        "directoryStringFirstComponentMatch",
        oid::DIRECTORY_STRING,
        first_string,
        strings::DIRECTORY_SYNTAXES,
    )
    .with_assertion(strings::ignore_assertion),
    MatchingRule::equality(
        "2.5.13.30",
        "objectIdentifierFirstComponentMatch",
        oid::OID,
        first_object_identifier,
        &[
            oid::OID,
            oid::ATTRIBUTE_TYPE_DESCRIPTION,
            oid::DIT_CONTENT_RULE_DESCRIPTION,
            oid::LDAP_SYNTAX_DESCRIPTION,
            oid::MATCHING_RULE_DESCRIPTION,
            oid::MATCHING_RULE_USE_DESCRIPTION,
            oid::NAME_FORM_DESCRIPTION,
            oid::OBJECT_CLASS_DESCRIPTION,
            oid::LOGGED_CONTROL,
        ],
    )
    .with_assertion(object_identifiers::assertion)
    .checked_by_normalizing(),
    MatchingRule::equality(
        "2.5.13.29",
        "integerFirstComponentMatch",
        oid::INTEGER,
        first_integer,
        &[oid::INTEGER, oid::DIT_STRUCTURE_RULE_DESCRIPTION],
    )
    .with_assertion(integers::normalize)
    .checked_by_normalizing(),
];

/// The first word inside the parentheses, or the value itself when there are none.
fn first_component(value: &[u8]) -> Result<&[u8], InvalidValue> {
    let value = value.trim_ascii();
    if value.starts_with(b"{") {
        let inner = std::str::from_utf8(value).ok().and_then(control::inner);
        let word = inner.and_then(|inner| inner.split_ascii_whitespace().next());
        return word.map(str::as_bytes).ok_or(InvalidValue);
    }
    let Some(inner) = value.strip_prefix(b"(") else {
        return Ok(value);
    };
    let inner = inner.trim_ascii_start();
    let end = inner
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b')' | b'$'))
        .ok_or(InvalidValue)?;
    inner.get(..end).filter(|word| !word.is_empty()).ok_or(InvalidValue)
}

fn first_object_identifier(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    object_identifiers::value(schema, first_component(value)?, out)
}

fn first_integer(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    integers::normalize(schema, first_component(value)?, out)
}

fn first_string(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let trimmed = value.trim_ascii();
    if !trimmed.starts_with(b"(") {
        return strings::ignore_value(schema, value, out);
    }
    let component = first_component(value)?;
    let quoted = component.strip_prefix(b"'").and_then(|inner| inner.strip_suffix(b"'"));
    strings::ignore_value(schema, quoted.unwrap_or(component), out)
}
