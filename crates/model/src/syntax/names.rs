//! DN, RDN, Name And Optional UID and OID (RFC 4517 §3.3.9, §3.3.21, §3.3.26).

use super::{InvalidValue, Syntax, numbers::is_bit_string, oid, require, text};
use crate::{Dn, Schema, schema};

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::DN, "Distinguished Name", distinguished_name),
    Syntax::text(oid::RDN, "RDN", relative_distinguished_name),
    Syntax::text(
        oid::NAME_AND_OPTIONAL_UID,
        "Name And Optional UID",
        name_and_optional_uid,
    ),
    Syntax::text(oid::OID, "OID", object_identifier),
];

fn distinguished_name(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    Dn::parse(schema, value).map(|_| ()).map_err(|_| InvalidValue)
}

fn relative_distinguished_name(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let name = Dn::parse(schema, value).map_err(|_| InvalidValue)?;
    require(name.depth() <= 1)
}

fn name_and_optional_uid(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    distinguished_name(schema, split_optional_uid(value).0)
}

/// The name and the bit string behind the last `#`, if what stands there is one.
pub(crate) fn split_optional_uid(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    if let Some(position) = memchr::memrchr(b'#', value)
        && let Some((name, [_, uid @ ..])) = value.split_at_checked(position)
        && is_bit_string(uid)
    {
        return (name, Some(uid));
    }
    (value, None)
}

/// A numeric OID or a descriptor (RFC 4512 §1.4), whether or not the schema knows it.
pub(super) fn object_identifier(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(schema::is_numeric_oid(value) || text(value).is_ok_and(schema::is_descriptor))
}
