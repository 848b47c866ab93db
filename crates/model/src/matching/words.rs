//! wordMatch and keywordMatch (RFC 4517 §4.2.32, §4.2.21).
//!
//! Words are separated by characters that are neither letters nor digits. Keywords are separated by white space and
//! commas. Both are compared as caseIgnoreMatch compares.

use super::{
    MatchingRule,
    strings::{DIRECTORY_SYNTAXES, ignore_assertion, ignore_value},
};
use crate::{Schema, syntax::oid};

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule {
        normalize_assertion: ignore_assertion,
        ..MatchingRule::extensible(
            "2.5.13.33",
            "keywordMatch",
            oid::DIRECTORY_STRING,
            ignore_value,
            keyword,
            DIRECTORY_SYNTAXES,
        )
    },
    MatchingRule {
        normalize_assertion: ignore_assertion,
        ..MatchingRule::extensible(
            "2.5.13.32",
            "wordMatch",
            oid::DIRECTORY_STRING,
            ignore_value,
            word,
            DIRECTORY_SYNTAXES,
        )
    },
];

/// The characters of UTF-8 beyond ASCII count as letters.
fn word(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    value
        .split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())
        .any(|word| !word.is_empty() && word == assertion)
}

fn keyword(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    value
        .split(|byte| matches!(byte, b' ' | b',' | b';'))
        .any(|word| !word.is_empty() && word == assertion)
}
