//! Names with an optional unique identifier, `dn#'0101'B` (RFC 4517 §3.3.21).

use super::{Dn, InvalidDn};
use crate::Schema;

/// Splits a value into its name and its bit string (`'0101'B`), by form alone.
///
/// A `#` need not be escaped in a DN: if the end of the value is not a bit string, it belongs to the name.
pub fn split(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    let Some(hash) = memchr::memrchr(b'#', value) else {
        return (value, None);
    };
    let (name, uid) = value.split_at(hash);
    let uid = uid.get(1..).unwrap_or_default();
    if is_bit_string(uid) {
        (name, Some(uid))
    } else {
        (value, None)
    }
}

/// Parses a value: the name, and the bit string as written.
pub fn parse<'v>(schema: &Schema, value: &'v [u8]) -> Result<(Dn, Option<&'v [u8]>), InvalidDn> {
    let (name, uid) = split(value);
    Ok((Dn::parse(schema, name)?, uid))
}

/// Appends the pretty form.
pub fn pretty(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidDn> {
    let (dn, uid) = parse(schema, value)?;
    out.extend_from_slice(dn.pretty().as_bytes());
    if let Some(uid) = uid {
        push(out, uid);
    }
    Ok(())
}

pub(super) fn push(out: &mut Vec<u8>, uid: &[u8]) {
    out.push(b'#');
    out.extend_from_slice(uid);
}

fn is_bit_string(text: &[u8]) -> bool {
    match text {
        [b'\'', digits @ .., b'\'', b'B'] => digits.iter().all(|b| matches!(b, b'0' | b'1')),
        _ => false,
    }
}
