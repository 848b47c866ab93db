//! Approximate matching (`~=`, RFC 4511 §4.5.1.7.6). Extensible filters reach it as OpenLDAP's
//! directoryStringApproxMatch and IA5StringApproxMatch. Words that sound alike have the same code. A value matches when
//! it has all words of the assertion, in order.
//!
//! Words are separated by spaces. The code of a word is the one that slapd's default phonetics give: the Metaphone of
//! the University of Michigan with all its peculiarities (`metaphone`). It is made of the letters A to Z up to the
//! first other character; letters with marks count as their base letters. Words that do not begin with such letters
//! (`10`, `Мир`) are our own choice: such a word is its own code. slapd takes `10` for `11` when there is no index,
//! finds nothing when there is one, and ignores words in other scripts.

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

/// The rule that `~=` uses for attributes with this equality rule, if it is another one.
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

/// Appends the code of a decomposed word. A space goes before it, unless it is the first code.
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
    // No code made of letters begins with this.
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

/// The sign before a word that is its own code.
const OWN: u8 = b'=';

#[cfg(test)]
mod tests;
