//! The stored form of values: names (also in authorization rules) in pretty form, UUIDs in lower case, everything else
//! as the client sent it.

use ironbark_model::{
    Dn, Schema,
    dn::name_and_uid,
    syntax::{Syntax, authz, oid},
};

/// The stored form of a value that conforms to its syntax.
pub(super) fn stored_form(schema: &Schema, syntax: &Syntax, value: &[u8]) -> Vec<u8> {
    match syntax.validated_as {
        oid::DN => Dn::parse(schema, value).map_or_else(|_| value.to_vec(), |dn| dn.pretty().as_bytes().to_vec()),
        oid::NAME_AND_OPTIONAL_UID => written(value, |out| name_and_uid::pretty(schema, value, out).is_ok()),
        oid::AUTHZ => written(value, |out| authz::pretty(schema, value, out).is_ok()),
        oid::UUID => value.to_ascii_lowercase(),
        _ => value.to_vec(),
    }
}

/// The output of `write` for a value, or the value itself.
fn written(value: &[u8], write: impl Fn(&mut Vec<u8>) -> bool) -> Vec<u8> {
    let mut pretty = Vec::with_capacity(value.len());
    if write(&mut pretty) { pretty } else { value.to_vec() }
}
