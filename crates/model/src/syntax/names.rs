//! DN, RDN, Name And Optional UID and OID (RFC 4517 §3.3.9, §3.3.21, §3.3.26).

use super::{InvalidValue, NameForm, Syntax, oid, require, text};
use crate::{Dn, Schema, dn::name_and_uid, matching, schema};

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::DN, "Distinguished Name", distinguished_name).in_names(NameForm::Name),
    Syntax::text(oid::RDN, "RDN", relative_distinguished_name),
    Syntax::text(
        oid::NAME_AND_OPTIONAL_UID,
        "Name And Optional UID",
        name_and_optional_uid,
    )
    .in_names(NameForm::NameAndUid),
    Syntax::text(oid::OID, "OID", known_object_identifier).in_names(NameForm::ObjectIdentifier),
];

fn distinguished_name(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    Dn::parse(schema, value).map(|_| ()).map_err(|_| InvalidValue)
}

fn relative_distinguished_name(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let name = Dn::parse(schema, value).map_err(|_| InvalidValue)?;
    require(name.depth() <= 1)
}

fn name_and_optional_uid(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    name_and_uid::parse(schema, value).map(|_| ()).map_err(|_| InvalidValue)
}

/// A numeric OID, or the descriptor of an element that the schema knows. slapd refuses other descriptors.
fn known_object_identifier(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(
        schema::is_numeric_oid(value)
            || schema.find_object_class(value).is_some()
            || schema.find_attribute_type(value).is_some()
            || matching::find(value).is_some(),
    )
}

/// A numeric OID or a descriptor (RFC 4512 §1.4), whether or not the schema knows it.
pub(super) fn object_identifier(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(schema::is_numeric_oid(value) || text(value).is_ok_and(schema::is_descriptor))
}
