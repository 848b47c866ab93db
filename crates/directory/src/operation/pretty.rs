//! The form in which values are stored: names in pretty form, UUIDs in lower case, everything else as it came in.

use ironbark_model::{
    Dn, Schema,
    dn::name_and_uid,
    syntax::{Syntax, oid},
};

/// The stored form of a value that conforms to its syntax.
pub fn stored_form(schema: &Schema, syntax: &Syntax, value: &[u8]) -> Vec<u8> {
    match syntax.validated_as {
        oid::DN => Dn::parse(schema, value).map_or_else(|_| value.to_vec(), |dn| dn.pretty().as_bytes().to_vec()),
        oid::NAME_AND_OPTIONAL_UID => {
            let mut pretty = Vec::with_capacity(value.len());
            match name_and_uid::pretty(schema, value, &mut pretty) {
                Ok(()) => pretty,
                Err(_) => value.to_vec(),
            }
        }
        oid::UUID => value.to_ascii_lowercase(),
        _ => value.to_vec(),
    }
}
