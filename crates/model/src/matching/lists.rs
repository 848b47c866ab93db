//! caseIgnoreListMatch and caseIgnoreListSubstringsMatch (RFC 4517 §4.2.8, §4.2.9) of postal addresses.
//!
//! Normal form: the prepared lines, escapes resolved, with a NUL between them. Preparation removes NULs from lines, so
//! that no substring crosses the end of a line.

use super::{
    MatchingRule, Normalize, SubstringPart,
    strings::{ignore_assertion, ignore_value, part_spaces},
};
use crate::{
    Schema,
    stringprep::{Case, Prohibited, prepare},
    syntax::{InvalidValue, oid},
};

const POSTAL: &[&str] = &[oid::POSTAL_ADDRESS];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "2.5.13.12",
        "caseIgnoreListSubstringsMatch",
        oid::SUBSTRING_ASSERTION,
        value,
        part,
        POSTAL,
    ),
    MatchingRule::equality("2.5.13.11", "caseIgnoreListMatch", oid::POSTAL_ADDRESS, value, POSTAL)
        .with_assertion(assertion),
];

fn value(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    lines(schema, value, ignore_value, out)
}

fn assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    lines(schema, value, ignore_assertion, out)
}

fn lines(schema: &Schema, value: &[u8], normalize: Normalize, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let start = out.len();
    for (position, line) in value.split(|byte| *byte == b'$').enumerate() {
        if position > 0 {
            out.push(0);
        }
        let result = match memchr::memchr(b'\\', line) {
            None => normalize(schema, line, out),
            Some(_) => normalize(schema, &unescaped(line), out),
        };
        if result.is_err() {
            out.truncate(start);
            return result;
        }
    }
    Ok(())
}

/// `\24` is `$` and `\5C` is a backslash. Other backslashes stay.
fn unescaped(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    loop {
        match rest {
            [b'\\', b'2', b'4', after @ ..] => {
                plain.push(b'$');
                rest = after;
            }
            [b'\\', b'5', b'C' | b'c', after @ ..] => {
                plain.push(b'\\');
                rest = after;
            }
            [byte, after @ ..] => {
                plain.push(*byte);
                rest = after;
            }
            [] => return plain,
        }
    }
}

fn part(_: &Schema, value: &[u8], part: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Ignore, part_spaces(part), Prohibited::Refused, out)
}
