//! Character strings: Directory, IA5, Printable, Numeric and Country String, Telephone Number, Postal Address
//! (RFC 4517 §3.3.4, §3.3.6, §3.3.15, §3.3.23, §3.3.28, §3.3.29, §3.3.31).

use super::{InvalidValue, Syntax, oid, require, text};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::DIRECTORY_STRING, "Directory String", directory_string),
    Syntax::text(oid::IA5_STRING, "IA5 String", ia5_string),
    Syntax::text(oid::PRINTABLE_STRING, "Printable String", printable_string),
    Syntax::text(oid::COUNTRY_STRING, "Country String", country_string).within(&[
        oid::DIRECTORY_STRING,
        oid::IA5_STRING,
        oid::PRINTABLE_STRING,
    ]),
    Syntax::text(oid::NUMERIC_STRING, "Numeric String", numeric_string),
    Syntax::text(oid::TELEPHONE_NUMBER, "Telephone Number", printable_string),
    Syntax::text(oid::POSTAL_ADDRESS, "Postal Address", postal_address),
];

/// UTF-8, not empty.
pub(super) fn directory_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(!value.is_empty() && (value.is_ascii() || text(value).is_ok()))
}

/// ASCII, possibly empty.
pub(super) fn ia5_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.is_ascii())
}

pub(super) fn printable_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(is_printable_string(value))
}

fn country_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.len() == 2 && is_printable_string(value))
}

fn numeric_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(!value.is_empty() && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b' '))
}

/// Lines between `$`. In them `$` is `\24` and `\` is `\5C`. As in slapd, lines may be empty, even the only one.
fn postal_address(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    text(value)?;
    require(has_only_escapes(value, &[b"24", b"5C"]))
}

/// Whether each backslash is followed by one of the given pairs of hexadecimal digits.
pub(super) fn has_only_escapes(value: &[u8], escapes: &[&[u8; 2]]) -> bool {
    memchr::memchr_iter(b'\\', value).all(|position| {
        value
            .get(position + 1..position + 3)
            .is_some_and(|digits| escapes.iter().any(|escape| digits.eq_ignore_ascii_case(&escape[..])))
    })
}

/// `PrintableString` of RFC 4517 §3.2.
pub(super) fn is_printable_string(value: &[u8]) -> bool {
    !value.is_empty()
        && value.iter().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'\'' | b'(' | b')' | b'+' | b',' | b'-' | b'.' | b'=' | b'/' | b':' | b'?' | b' '
                )
        })
}
