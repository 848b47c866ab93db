//! integerMatch and integerOrderingMatch (RFC 4517 §4.2.19, §4.2.20) for integers of any size.
//!
//! Normal form: for a positive number of n digits the byte `0x80 + n` (n below 127; otherwise `0xff` and n as four
//! big-endian bytes), then the digits in pairs, one pair a byte (the last one padded with 0); zero is `0x80`; a
//! negative number is the form of its absolute value with all bits inverted. So memcmp order is numeric order, and no
//! form is a prefix of another.

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{InvalidValue, integer_parts, oid},
};

const INTEGER: &[&str] = &[oid::INTEGER];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::ordering(
        "2.5.13.15",
        "integerOrderingMatch",
        oid::INTEGER,
        normalize_value,
        INTEGER,
    )
    .with_assertion(normalize)
    .checked_by_normalizing(),
    MatchingRule::equality("2.5.13.14", "integerMatch", oid::INTEGER, normalize_value, INTEGER)
        .with_assertion(normalize)
        .checked_by_normalizing(),
];

/// As [`normalize`], for stored values. slapd's slapadd loads integers with leading zeros; they match by their number.
fn normalize_value(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let (negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    match digits.get(zeros..) {
        _ if zeros == 0 => normalize(schema, value, out),
        Some([]) => normalize(schema, b"0", out),
        Some(number @ [b'1'..=b'9', ..]) if negative => normalize(schema, &[b"-", number].concat(), out),
        Some(number @ [b'1'..=b'9', ..]) => normalize(schema, number, out),
        _ => Err(InvalidValue),
    }
}

pub(super) fn normalize(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let (negative, digits) = integer_parts(value)?;
    let length = u32::try_from(digits.len()).map_err(|_| InvalidValue)?;
    let start = out.len();
    match u8::try_from(length) {
        Ok(length) if length < LONG => out.push(ZERO + length),
        _ => {
            out.push(ZERO + LONG);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend(digits.chunks(2).map(|pair| {
        let digit = |position: usize| pair.get(position).map_or(0, |digit| digit & 0x0f);
        digit(0) << 4 | digit(1)
    }));
    if negative {
        out.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// The number of a normal form, or `None` when it does not fit.
pub(super) fn decode(normal: &[u8]) -> Option<i128> {
    std::str::from_utf8(&written(normal)?).ok()?.parse().ok()
}

/// A normal form as digits, with a sign if it is negative.
pub(super) fn written(normal: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = normal.split_first()?;
    let negative = *first < ZERO;
    let plain = |byte: &u8| if negative { !byte } else { *byte };
    let (length, pairs) = match plain(first) - ZERO {
        LONG => {
            let (length, pairs) = rest.split_first_chunk::<4>()?;
            (u32::from_be_bytes(length.map(|byte| plain(&byte))), pairs)
        }
        length => (u32::from(length), rest),
    };
    let digits = pairs.iter().map(plain).flat_map(|pair| [pair >> 4, pair & 0x0f]);
    let mut text = if negative { b"-".to_vec() } else { Vec::new() };
    let start = text.len();
    text.extend(digits.take(length as usize).map(|digit| b'0' + digit));
    if text.len() == start {
        text.push(b'0');
    }
    (text.len() - start == (length as usize).max(1)).then_some(text)
}

const ZERO: u8 = 0x80;
const LONG: u8 = 127;
