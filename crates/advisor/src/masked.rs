//! A configuration without its secrets, to be shown to others.

use std::fmt::Write as _;

use ironbark_config::{Fate, Handler, Surveyed, SurveyedSection};

use crate::{Class, Findings, review::secrets::holds_secret, written::WrittenConfiguration};

/// What stands for a secret.
const MASK: &str = "***";
/// Words whose values are secrets, wherever they stand.
const NAMES: [&str; 6] = ["credentials=", "bindpw=", "password=", "passwd=", "secret=", "pw="];

impl WrittenConfiguration {
    /// The statements as lines, without comments, secrets and schema definitions. The values of statements that are not
    /// understood are left out: nobody knows what they hold.
    pub fn masked(&self) -> String {
        let (mut text, mut definitions) = (String::new(), 0);
        for statement in &self.statements {
            if is_definition(statement) {
                definitions += 1;
                continue;
            }
            let line = &statement.line;
            let is_understood =
                statement.row.is_some() && statement.refusal.is_none() && statement.section != SurveyedSection::Refused;
            let value = if !is_understood {
                "(not understood: its value is left out)".to_owned()
            } else if holds_secret(statement) && !statement.means("syncrepl") {
                MASK.to_owned()
            } else {
                masked(&line.raw)
            };
            let value: String = value
                .chars()
                .map(|one| if one.is_control() { ' ' } else { one })
                .collect();
            let _ = writeln!(text, "{} {}", line.keyword, value.trim());
        }
        let _ = writeln!(text, "# and {definitions} definitions of schema");
        text
    }
}

impl Findings {
    /// The findings without the values that errors quote: nobody knows what they hold, as with statements that are not
    /// understood. A password that stands in the wrong place of a line would be quoted.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = Self::default();
        for finding in self.iter() {
            let mut finding = finding.clone();
            if finding.class == Class::Wrong {
                finding.reason = without_quoted(&finding.reason);
            }
            masked.add(finding);
        }
        masked
    }
}

/// A text with a mask from its first quotation mark to the last one: a value may have some, too.
fn without_quoted(text: &str) -> String {
    let Some((before, rest)) = text.split_once('"') else {
        return text.to_owned();
    };
    match rest.rsplit_once('"') {
        Some((_, after)) => format!("{before}\"{MASK}\"{after}"),
        None => format!("{before}\"{MASK}"),
    }
}

fn is_definition(statement: &Surveyed) -> bool {
    statement
        .row
        .is_some_and(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(_))))
}

/// A value without what looks like a secret in it: `credentials=...`, hashes of passwords.
fn masked(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((at, behind)) = next_secret(rest) {
        let (before, after) = rest.split_at(at);
        shown.push_str(before);
        shown.push_str(MASK);
        rest = after.get(behind..).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
}

/// The begin and the length of the first secret.
fn next_secret(text: &str) -> Option<(usize, usize)> {
    let small = text.to_ascii_lowercase();
    let named = NAMES
        .iter()
        .flat_map(|name| small.match_indices(name).map(|(at, name)| at + name.len()));
    let named = named.map(|at| (at, length(text, at)));
    let hashes = text.match_indices('{').filter_map(|(at, _)| hash(text, at));
    named.chain(hashes).filter(|(_, length)| *length > 0).min()
}

/// The length of the word that begins here, or of the rest of one. It may be quoted, from here or from further ahead. A
/// word that is masked already has none.
fn length(text: &str, at: usize) -> usize {
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    if rest.starts_with(MASK) {
        return 0;
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    match rest.strip_prefix('"') {
        Some(quoted) => quote_end(quoted).map_or(rest.len(), |end| end + 2),
        None if word.starts_with('"') => quote_end(rest).unwrap_or(rest.len()),
        None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
    }
}

/// The first quotation mark without a backslash before it.
fn quote_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, one)| {
        let ends = one == '"' && !is_escaped;
        is_escaped = one == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// The hash behind a `{SCHEME}` that begins here.
fn hash(text: &str, at: usize) -> Option<(usize, usize)> {
    let (scheme, _) = text.get(at + 1..)?.split_once('}')?;
    let is_scheme = scheme.starts_with(|one: char| one.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || "-_./".contains(one));
    let behind = at + scheme.len() + 2;
    is_scheme.then(|| (behind, length(text, behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_quotes_is_not_shown() {
        for (reason, expected) in [
            ("unable to parse \"geheim\"", "unable to parse \"***\""),
            ("not \"a\"b\"c\", but d", "not \"***\", but d"),
            ("unable to parse \"a b", "unable to parse \"***"),
            ("needs a suffix", "needs a suffix"),
        ] {
            assert_eq!(without_quoted(reason), expected);
        }
    }

    #[test]
    fn nothing_that_looks_like_a_secret_is_left() {
        for (value, expected) in [
            (
                "rid=1 credentials=geheim provider=ldap://x",
                "rid=1 credentials=*** provider=ldap://x",
            ),
            ("Credentials=\"ge heim\" x", "Credentials=*** x"),
            ("\"credentials=ge heim\" bindPW=y", "\"credentials=***\" bindPW=***"),
            ("credentials=\"a\\\"b c\" x", "credentials=*** x"),
            ("{SSHA}abc+/= and {CRYPT}$6$x$y", "{SSHA}*** and {CRYPT}***"),
            ("{0}to * by * read", "{0}to * by * read"),
            ("{SSHA512} {ARGON2}", "{SSHA512} {ARGON2}"),
            ("credentials= credentials=x", "credentials= credentials=***"),
            ("credentials=\"open", "credentials=***"),
            ("uid={0},secret=é", "uid={0},secret=***"),
        ] {
            assert_eq!(masked(value), expected);
        }
    }
}
