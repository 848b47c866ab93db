//! The syntaxes of schema definitions (RFC 4517 §3.3.1, §3.3.7, §3.3.8, §3.3.18 to §3.3.20, §3.3.22, §3.3.24).

use super::{InvalidValue, Syntax, oid, text};
use crate::{
    Schema,
    schema::{
        AttributeTypeDefinition, ContentRuleDefinition, ObjectClassDefinition, OtherDefinition, OtherKind,
        SyntaxDefinition, is_parenthesized,
    },
};

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(
        oid::ATTRIBUTE_TYPE_DESCRIPTION,
        "Attribute Type Description",
        attribute_type,
    )
    .hidden(),
    Syntax::text(oid::OBJECT_CLASS_DESCRIPTION, "Object Class Description", object_class).hidden(),
    Syntax::text(
        oid::DIT_CONTENT_RULE_DESCRIPTION,
        "DIT Content Rule Description",
        content_rule,
    )
    .hidden(),
    Syntax::text(
        oid::DIT_STRUCTURE_RULE_DESCRIPTION,
        "DIT Structure Rule Description",
        structure_rule,
    )
    .hidden(),
    Syntax::text(
        oid::MATCHING_RULE_DESCRIPTION,
        "Matching Rule Description",
        matching_rule,
    )
    .hidden(),
    Syntax::text(
        oid::MATCHING_RULE_USE_DESCRIPTION,
        "Matching Rule Use Description",
        matching_rule_use,
    )
    .hidden(),
    Syntax::text(oid::NAME_FORM_DESCRIPTION, "Name Form Description", name_form).hidden(),
    Syntax::text(oid::LDAP_SYNTAX_DESCRIPTION, "LDAP Syntax Description", syntax).hidden(),
    Syntax::text(
        "1.3.6.1.4.1.1466.115.121.1.56",
        "LDAP Schema Definition",
        any_definition,
    )
    .hidden(),
    Syntax::text(
        "1.3.6.1.4.1.1466.115.121.1.57",
        "LDAP Schema Description",
        any_definition,
    )
    .hidden(),
];

/// A value is a definition and nothing else. A schema file may have text around it.
fn alone(value: &[u8]) -> Result<&str, InvalidValue> {
    text(value).and_then(|text| is_parenthesized(text).then_some(text).ok_or(InvalidValue))
}

fn attribute_type(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    AttributeTypeDefinition::parse(alone(value)?)
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

fn object_class(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    ObjectClassDefinition::parse(alone(value)?)
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

fn content_rule(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    ContentRuleDefinition::parse(alone(value)?)
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

fn syntax(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    SyntaxDefinition::parse(alone(value)?)
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

fn structure_rule(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    other(value, OtherKind::StructureRule)
}

fn matching_rule(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    other(value, OtherKind::MatchingRule)
}

fn matching_rule_use(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    other(value, OtherKind::MatchingRuleUse)
}

fn name_form(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    other(value, OtherKind::NameForm)
}

fn other(value: &[u8], kind: OtherKind) -> Result<(), InvalidValue> {
    OtherDefinition::parse(alone(value)?, kind)
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

/// A definition of any kind.
fn any_definition(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    attribute_type(schema, value)
        .or_else(|_| object_class(schema, value))
        .or_else(|_| content_rule(schema, value))
        .or_else(|_| matching_rule(schema, value))
        .or_else(|_| matching_rule_use(schema, value))
        .or_else(|_| name_form(schema, value))
        .or_else(|_| structure_rule(schema, value))
}
