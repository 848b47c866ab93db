//! objectIdentifierMatch (RFC 4517 §4.2.26) and its form for object classes.
//!
//! Normal form: the numeric OID. A descriptor that the schema does not know stays, in lower case, in values. In
//! assertions it is an error.

use super::{MatchingRule, find};
use crate::{
    Schema, schema,
    syntax::{InvalidValue, oid},
};

const OID: &[&str] = &[oid::OID];

pub(super) static ROWS: &[MatchingRule] =
    &[
        MatchingRule::equality("2.5.13.0", "objectIdentifierMatch", oid::OID, value, OID)
            .with_assertion(assertion)
            .checked_by_normalizing(),
    ];

/// objectIdentifierMatch for `objectClass`. An entry of a class also belongs to the superclasses (RFC 4512 §2.4),
/// listed or not. A name that is not a class matches nothing.
pub(super) static OBJECT_SUBCLASS_MATCH: MatchingRule = MatchingRule {
    expand: Some(subclasses),
    ..MatchingRule::equality("2.5.13.0", "objectIdentifierMatch", oid::OID, value, OID)
        .with_assertion(class)
        .checked_by_normalizing()
};

pub(super) fn value(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if schema::is_numeric_oid(value) {
        out.extend_from_slice(value);
    } else if let Some(oid) = oid_of_descriptor(schema, value) {
        out.extend_from_slice(oid.as_bytes());
    } else if std::str::from_utf8(value).is_ok_and(schema::is_descriptor) {
        out.extend(value.iter().map(u8::to_ascii_lowercase));
    } else {
        return Err(InvalidValue);
    }
    Ok(())
}

pub(super) fn assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if schema::is_numeric_oid(value) {
        out.extend_from_slice(value);
        return Ok(());
    }
    let oid = oid_of_descriptor(schema, value).ok_or(InvalidValue)?;
    out.extend_from_slice(oid.as_bytes());
    Ok(())
}

fn class(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let class = schema.find_object_class(value).ok_or(InvalidValue)?;
    out.extend_from_slice(class.oid.as_bytes());
    Ok(())
}

fn oid_of_descriptor<'a>(schema: &'a Schema, name: &[u8]) -> Option<&'a str> {
    if let Some(class) = schema.find_object_class(name) {
        return Some(&class.oid);
    }
    if let Some(found) = schema.find_attribute_type(name) {
        return Some(&found.oid);
    }
    Some(find(name)?.oid)
}

/// The name of the element that a normal form stands for.
pub(super) fn written(schema: &Schema, normal: &[u8]) -> Option<Vec<u8>> {
    let class = schema
        .find_object_class(normal)
        .map(|class| class.name().as_bytes().to_vec());
    class.or_else(|| Some(schema.find_attribute_type(normal)?.name().as_bytes().to_vec()))
}

fn subclasses(schema: &Schema, assertion: &[u8], visit: &mut dyn FnMut(&[u8])) {
    if let Some(class) = schema.find_object_class(assertion) {
        for number in schema.subclasses(class.number) {
            visit(schema.object_class(*number).oid.as_bytes());
        }
    }
}
