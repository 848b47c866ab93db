//! booleanMatch (RFC 4517 §4.2.2), presentationAddressMatch and protocolInformationMatch (X.520 §7.7).

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{InvalidValue, oid},
};

pub(super) static BOOLEAN_ROWS: &[MatchingRule] = &[MatchingRule::equality(
    "2.5.13.13",
    "booleanMatch",
    oid::BOOLEAN,
    boolean,
    &[oid::BOOLEAN],
)];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::equality(
        "2.5.13.24",
        "protocolInformationMatch",
        oid::PROTOCOL_INFORMATION,
        compact,
        &[oid::PROTOCOL_INFORMATION],
    ),
    MatchingRule::equality(
        "2.5.13.22",
        "presentationAddressMatch",
        oid::PRESENTATION_ADDRESS,
        compact,
        &[oid::PRESENTATION_ADDRESS],
    ),
];

/// `TRUE` and `FALSE`. Lower case is accepted in old data.
fn boolean(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.eq_ignore_ascii_case(b"TRUE") {
        out.extend_from_slice(b"TRUE");
    } else if value.eq_ignore_ascii_case(b"FALSE") {
        out.extend_from_slice(b"FALSE");
    } else {
        return Err(InvalidValue);
    }
    Ok(())
}

/// Removes spaces and case outside quotes.
fn compact(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if !value.is_ascii() {
        return Err(InvalidValue);
    }
    let mut quoted = false;
    for byte in value {
        match byte {
            b'"' => {
                quoted = !quoted;
                out.push(*byte);
            }
            b' ' if !quoted => {}
            _ if quoted => out.push(*byte),
            _ => out.push(byte.to_ascii_lowercase()),
        }
    }
    Ok(())
}
