//! Octet String and the octet syntaxes without a form of their own (RFC 4517 §3.3.25, §3.3.12, §3.3.17, RFC 2252 §6).

use super::{InvalidValue, Syntax, oid, require, text};
use crate::Schema;

/// The syntax of any value.
pub(crate) static OCTET_STRING: Syntax = Syntax::text(oid::OCTET_STRING, "Octet String", any);

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::OCTET_STRING, "Octet String", any),
    Syntax::der("1.3.6.1.4.1.1466.115.121.1.1", "ACI Item", any).hidden(),
    Syntax::octets("1.3.6.1.4.1.1466.115.121.1.2", "Access Point", any).hidden(),
    Syntax::octets("1.3.6.1.4.1.1466.115.121.1.4", "Audio", any),
    Syntax::octets("1.3.6.1.4.1.1466.115.121.1.5", "Binary", any),
    Syntax::octets("1.3.6.1.4.1.1466.115.121.1.23", "Fax", any).hidden(),
    Syntax::octets("1.3.6.1.4.1.1466.115.121.1.28", "JPEG", jpeg),
    Syntax::text("1.3.6.1.4.1.4203.1.1.1", "OpenLDAP void", void).hidden(),
    Syntax::text("1.3.6.1.4.1.4203.666.2.1", "OpenLDAP Experimental ACI", readable).hidden(),
];

#[allow(clippy::unnecessary_wraps, reason = "the type of a table entry")]
fn any(_: &Schema, _: &[u8]) -> Result<(), InvalidValue> {
    Ok(())
}

/// Any octets. RFC 4517 §3.3.17 asks for JFIF, but servers hold PNG and EXIF photos, and slapd accepts them.
#[allow(clippy::unnecessary_wraps, reason = "the type of a table entry")]
fn jpeg(_: &Schema, _: &[u8]) -> Result<(), InvalidValue> {
    Ok(())
}

/// No value at all: the pseudo-attributes of access control.
fn void(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.is_empty())
}

fn readable(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(!value.is_empty() && text(value).is_ok())
}
