//! generalizedTimeMatch and generalizedTimeOrderingMatch (RFC 4517 §4.2.16, §4.2.17).
//!
//! Normal form: `YYYYMMDDHHMMSS` in UTC, then the digits of the fraction without trailing zeros, without a separator;
//! memcmp order is order in time.

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{
        InvalidValue, oid,
        time::{Fraction, Time},
    },
};

const TIME: &[&str] = &[oid::GENERALIZED_TIME];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::ordering(
        "2.5.13.28",
        "generalizedTimeOrderingMatch",
        oid::GENERALIZED_TIME,
        normalize,
        TIME,
    )
    .checked_by_normalizing(),
    MatchingRule::equality(
        "2.5.13.27",
        "generalizedTimeMatch",
        oid::GENERALIZED_TIME,
        normalize,
        TIME,
    )
    .checked_by_normalizing(),
];

pub(super) fn normalize(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let time = Time::parse(value)?;
    digits(time.year, 4, out);
    for number in [time.month, time.day, time.hour, time.minute, time.second] {
        digits(number, 2, out);
    }
    match time.fraction {
        Fraction::OfSecond(fraction) => out.extend_from_slice(fraction),
        Fraction::Nanoseconds(0) => {}
        Fraction::Nanoseconds(nanoseconds) => {
            digits(nanoseconds, 9, out);
            while out.last() == Some(&b'0') {
                out.pop();
            }
        }
    }
    Ok(())
}

/// A normal form as generalized time.
pub(super) fn written(normal: &[u8]) -> Option<Vec<u8>> {
    let (seconds, fraction) = normal.split_at_checked(14)?;
    let mut text = seconds.to_vec();
    if !fraction.is_empty() {
        text.push(b'.');
        text.extend_from_slice(fraction);
    }
    text.push(b'Z');
    Some(text)
}

fn digits(number: u32, length: u32, out: &mut Vec<u8>) {
    for position in (0..length).rev() {
        let digit = number / 10_u32.pow(position) % 10;
        out.push(b'0' + u8::try_from(digit).unwrap_or(0));
    }
}
