//! Integer, Boolean and Bit String (RFC 4517 §3.3.2, §3.3.3, §3.3.16).

use super::{InvalidValue, NameForm, Syntax, oid, require};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::INTEGER, "Integer", integer).in_names(NameForm::Text),
    Syntax::text(oid::BOOLEAN, "Boolean", boolean).in_names(NameForm::Text),
    Syntax::text(oid::BIT_STRING, "Bit String", bit_string),
];

fn integer(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    integer_parts(value).map(|_| ())
}

/// Sign (true: negative) and digits without leading zeros. Zero has no digits. The number of digits has no limit.
///
/// Leading zeros, `+` and `-0` are errors.
pub(crate) fn integer_parts(value: &[u8]) -> Result<(bool, &[u8]), InvalidValue> {
    match value {
        b"0" => Ok((false, &[])),
        [b'-', digits @ ..] => {
            require(is_number(digits))?;
            Ok((true, digits))
        }
        digits => {
            require(is_number(digits))?;
            Ok((false, digits))
        }
    }
}

fn is_number(digits: &[u8]) -> bool {
    matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit)
}

fn boolean(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let is_any_case = || {
        [&b"TRUE"[..], b"FALSE"]
            .iter()
            .any(|word| word.eq_ignore_ascii_case(value))
    };
    require(matches!(value, b"TRUE" | b"FALSE") || schema.takes_any_case_booleans() && is_any_case())
}

/// `'0101'B`.
fn bit_string(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    match value {
        [b'\'', bits @ .., b'\'', b'B'] => require(bits.iter().all(|bit| matches!(bit, b'0' | b'1'))),
        _ => Err(InvalidValue),
    }
}
