//! Patterns with `$1`, `${d1}` and `${v1}`. These stand for the submatches of a rule's `dn.regex` and `val.regex`.

use crate::SettingError;
use ironbark_model::PosixRegex;

/// A text with places for submatches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Literal(String),
    /// A submatch of the entry's name.
    Name(usize),
    /// A submatch of the value.
    Value(usize),
    /// `${` that is not closed: it stands for nothing.
    Broken,
}

/// Where a pattern has matched in a text: the whole, then its groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct Submatches<'a> {
    /// The text; `None` if there is none.
    pub text: Option<&'a [u8]>,
    /// Groups that took no part in the match are empty.
    pub spans: &'a [Option<(usize, usize)>],
    /// From this group on, a reference is an error and not empty.
    pub limit: usize,
}

impl Submatches<'_> {
    /// Groups that a regular expression may have; slapd's number.
    pub const MAX: usize = 100;

    fn group(&self, number: usize) -> Option<&[u8]> {
        let text = self.text.filter(|_| number < self.limit)?;
        let span = self.spans.get(number).copied().flatten();
        Some(span.map_or(&[][..], |(start, end)| text.get(start..end).unwrap_or_default()))
    }
}

impl Template {
    /// Reads a text. As in slapd, `$$` is a dollar sign, and so is a single one at the end. A dollar sign before
    /// anything else removes the text up to the next digit, brace or dollar sign.
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            if next != '$' {
                literal.push(next);
                continue;
            }
            let mut in_braces = false;
            let mut is_value = false;
            let mut is_open = true;
            while let Some(next) = rest.next() {
                match next {
                    '$' if !in_braces => literal.push('$'),
                    '{' if !in_braces => {
                        in_braces = true;
                        continue;
                    }
                    'v' if in_braces => {
                        is_value = true;
                        continue;
                    }
                    'd' if in_braces => {
                        is_value = false;
                        continue;
                    }
                    '0'..='9' => {
                        let mut digits = next.to_string();
                        let mut is_closed = !in_braces;
                        while in_braces && !is_closed {
                            match rest.next() {
                                Some('}') => is_closed = true,
                                Some(digit @ '0'..='9') => digits.push(digit),
                                Some(_) => {}
                                None => break,
                            }
                        }
                        if !literal.is_empty() {
                            parts.push(Part::Literal(std::mem::take(&mut literal)));
                        }
                        let number = digits.parse().unwrap_or(usize::MAX);
                        parts.push(match (is_closed, is_value) {
                            (false, _) => Part::Broken,
                            (true, true) => Part::Value(number),
                            (true, false) => Part::Name(number),
                        });
                    }
                    _ => continue,
                }
                is_open = false;
                break;
            }
            if is_open {
                literal.push('$');
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Self {
            text: text.to_owned(),
            parts,
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, if it has no places for submatches.
    pub fn fixed(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it uses submatches of the value.
    pub fn takes_value(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Value(_)))
    }

    /// Inserts the submatches; `None` if a place stands for nothing.
    pub fn expand(&self, name: Submatches<'_>, value: Submatches<'_>) -> Option<Vec<u8>> {
        let mut filled = Vec::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal(text) => filled.extend_from_slice(text.as_bytes()),
                Part::Name(number) => filled.extend_from_slice(name.group(*number)?),
                Part::Value(number) => filled.extend_from_slice(value.group(*number)?),
                Part::Broken => return None,
            }
        }
        Some(filled)
    }
}

/// A regular expression of a `by` clause. Submatches are inserted before it is used.
#[derive(Clone, PartialEq, Debug)]
pub enum RegexTemplate {
    /// It has no places for submatches.
    Fixed {
        /// As it was written.
        text: String,
        /// Compiled.
        regex: PosixRegex,
    },
    /// Compiled each time.
    Filled(Template),
}

impl RegexTemplate {
    /// Reads one. Blanks behind commas, which names may have, are removed.
    ///
    /// # Errors
    /// It is no regular expression, whatever submatches are inserted.
    pub(super) fn parse(text: &str) -> Result<Self, SettingError> {
        let text = without_blanks(text);
        let template = Template::parse(&text);
        let fixed = template.fixed().map(str::to_owned);
        let tried = fixed.clone().map_or_else(|| sample(&text), String::from);
        let regex = regex(&tried, &text)?;
        Ok(if fixed.is_some() {
            Self::Fixed { text, regex }
        } else {
            Self::Filled(template)
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Fixed { text, .. } => text,
            Self::Filled(template) => template.as_str(),
        }
    }
}

/// A sample of an expanded text, to check whether it can be compiled.
fn sample(text: &str) -> String {
    let mut sample = String::new();
    let mut is_place = false;
    for character in text.chars() {
        match (is_place, character) {
            (false, '$') => is_place = true,
            (false, other) => sample.push(other),
            (true, '$' | '0'..='9') => {
                sample.push(character);
                is_place = false;
            }
            (true, _) => is_place = false,
        }
    }
    sample
}

/// Compiles a pattern. An error has slapd's words.
pub(super) fn regex(pattern: &str, text: &str) -> Result<PosixRegex, SettingError> {
    PosixRegex::new(pattern).map_err(|error| format!("regular expression \"{text}\" bad because of {error}").into())
}

/// Names in patterns are compared with normal forms. These have no blanks behind commas.
pub(super) fn without_blanks(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        clean.push(character);
        if character == '\\' {
            clean.extend(rest.next());
        } else if character == ',' {
            while rest.next_if_eq(&' ').is_some() {}
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Option<String> {
        let name = b"uid=ann,dc=example";
        let spans = [Some((0, 18)), Some((4, 7)), None];
        let name = Submatches {
            text: Some(name),
            spans: &spans,
            limit: 3,
        };
        let value = Submatches {
            text: Some(b"value"),
            spans: &[Some((0, 5))],
            limit: Submatches::MAX,
        };
        let filled = Template::parse(text).expand(name, value)?;
        Some(String::from_utf8(filled).unwrap())
    }

    #[test]
    fn places_are_filled_as_in_slapd() {
        for (text, expected) in [
            ("cn=x", Some("cn=x")),
            ("uid=$1,dc=x", Some("uid=ann,dc=x")),
            ("uid=${1}2", Some("uid=ann2")),
            ("${d1}${v0}", Some("annvalue")),
            ("^$0$$", Some("^uid=ann,dc=example$")),
            ("^x$", Some("^x$")),
            ("$2", Some("")),
            ("$3", None),
            ("${v7}", Some("")),
            ("${1", None),
            ("a$b1c", Some("aannc")),
            ("", Some("")),
        ] {
            assert_eq!(filled(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn blanks_behind_commas_go_unless_the_comma_is_escaped() {
        assert_eq!(without_blanks("ou=a,  dc=b c, o=\\, x"), "ou=a,dc=b c,o=\\, x");
    }
}
