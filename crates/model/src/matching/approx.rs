//! Approximate matching (`~=`, RFC 4511 §4.5.1.7.6), and directoryStringApproxMatch and IA5StringApproxMatch, by which
//! OpenLDAP calls it in extensible filters: words that sound alike have the same code, and all words of the assertion
//! stand in the value, in order.
//!
//! Words are what stands between spaces. The code of a word is the one that slapd finds with its default phonetics, the
//! Metaphone of the University of Michigan with all its peculiarities (`metaphone`). It comes of the letters A to Z up
//! to the first other character; letters with marks count as their base letters. Two things are our own choice: a word
//! without such letters in front is its own code (`10`, `Мир`), where slapd takes `10` for `11` when there is no index
//! and finds nothing when there is one, and passes over words in other scripts.

use unicode_normalization::UnicodeNormalization as _;

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{InvalidValue, oid},
};

mod metaphone;

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::extensible(
        "1.3.6.1.4.1.4203.666.4.4",
        "directoryStringApproxMatch",
        oid::DIRECTORY_STRING,
        normalize,
        evaluate,
        &[oid::DIRECTORY_STRING],
    )
    .hidden(),
    MatchingRule::extensible(
        "1.3.6.1.4.1.4203.666.4.5",
        "IA5StringApproxMatch",
        oid::IA5_STRING,
        normalize,
        evaluate,
        &[oid::IA5_STRING],
    )
    .hidden(),
];

/// The rule by which `~=` matches attributes with this equality rule, if it is another one.
pub fn rule_of(equality: &MatchingRule) -> Option<&'static MatchingRule> {
    let name = match equality.oid {
        // caseIgnoreMatch, caseExactMatch
        "2.5.13.2" | "2.5.13.5" => "1.3.6.1.4.1.4203.666.4.4",
        // caseIgnoreIA5Match, caseExactIA5Match
        "1.3.6.1.4.1.1466.109.114.2" | "1.3.6.1.4.1.1466.109.114.1" => "1.3.6.1.4.1.4203.666.4.5",
        _ => return None,
    };
    ROWS.iter().find(|rule| rule.oid == name)
}

/// Appends one code for each word of `value`, separated by single spaces; nothing for a value without words.
pub fn codes(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if value.is_ascii() {
        for word in value.split(|byte| *byte == b' ') {
            code(word, start, out);
        }
        return;
    }
    let mut word = Vec::new();
    for character in String::from_utf8_lossy(value).nfkd() {
        if character == ' ' {
            code(&word, start, out);
            word.clear();
        } else {
            word.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    code(&word, start, out);
}

/// Whether each code of the assertion occurs among the codes of the value, in the order of the assertion.
pub fn matches(value_codes: &[u8], assertion_codes: &[u8]) -> bool {
    if assertion_codes.is_empty() {
        return false;
    }
    let mut remaining = value_codes.split(|byte| *byte == b' ');
    assertion_codes
        .split(|byte| *byte == b' ')
        .all(|wanted| remaining.any(|found| found == wanted))
}

#[allow(clippy::unnecessary_wraps, reason = "the type of a table entry")]
fn normalize(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    codes(value, out);
    Ok(())
}

fn evaluate(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    matches(value, assertion)
}

/// Appends the code of a decomposed word, behind a space unless the codes begin here.
fn code(word: &[u8], start: usize, out: &mut Vec<u8>) {
    if word.is_empty() {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    let before = out.len();
    metaphone::code(word.iter().copied().filter(u8::is_ascii), out);
    if out.len() > before {
        return;
    }
    // No code of letters begins so.
    out.push(OWN);
    match std::str::from_utf8(word) {
        Ok(text) => out.extend(text.chars().flat_map(char::to_lowercase).flat_map(|c| {
            let mut buffer = [0; 4];
            let length = c.encode_utf8(&mut buffer).len();
            buffer.into_iter().take(length)
        })),
        Err(_) => out.extend_from_slice(word),
    }
}

/// In front of a word that is its own code.
const OWN: u8 = b'=';

#[cfg(test)]
mod tests;
