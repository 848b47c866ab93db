//! POSIX extended regular expressions (IEEE 1003.1 §9.4) as slapd's settings use them: ASCII case is ignored, and
//! matching works on octets.
//!
//! An expression is translated for the `regex` crate, whose matching takes linear time. An expression matches what
//! POSIX says. If there are several ways to match, the first alternative that fits counts, as in glibc's library, which
//! slapd uses. If an expression does not end with `$`, glibc takes the longest match overall; submatches of
//! alternatives and options that begin alike may then differ. Back-references are refused: linear time is not enough
//! for them.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::{
    ParserBuilder,
    hir::{
        Hir, HirKind, Look,
        literal::{Extractor, Seq},
    },
};

/// A compiled expression.
#[derive(Clone)]
pub struct PosixRegex {
    text: String,
    is_case_ignored: bool,
    regex: Regex,
    /// Each matching text begins with one of these, in any case. `None`: it may begin with anything.
    heads: Option<Arc<[Box<[u8]>]>>,
}

/// Why an expression is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegexError {
    /// `\1`.
    #[error("back-references are not supported")]
    BackReference,
    /// The expression ends too early, or an interval is malformed.
    #[error("{0}")]
    Malformed(String),
    /// It would take more memory than [`MAX_COMPILED_BYTES`].
    #[error("it is too big")]
    TooBig,
}

/// Memory that one compiled expression may take.
pub const MAX_COMPILED_BYTES: usize = 1 << 20;

impl PosixRegex {
    /// Compiles an expression for which upper and lower case are the same.
    ///
    /// # Errors
    /// It is malformed, has back-references, or is too big.
    pub fn new(text: &str) -> Result<Self, RegexError> {
        Self::compile(text, true)
    }

    /// Compiles an expression for which upper and lower case are different.
    ///
    /// # Errors
    /// As of [`PosixRegex::new`].
    pub fn case_sensitive(text: &str) -> Result<Self, RegexError> {
        Self::compile(text, false)
    }

    fn compile(text: &str, is_case_ignored: bool) -> Result<Self, RegexError> {
        let translated = Translation::of(text)?;
        let regex = RegexBuilder::new(&translated)
            .unicode(false)
            .case_insensitive(is_case_ignored)
            .dot_matches_new_line(true)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        let regex = regex.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => RegexError::TooBig,
            error => RegexError::Malformed(last_line(&error.to_string())),
        })?;
        Ok(Self {
            text: text.to_owned(),
            is_case_ignored,
            regex,
            heads: heads(&translated),
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in `text`.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// Whether a text with this beginning may match. `false` is certain.
    pub fn may_match_after(&self, beginning: &[u8]) -> bool {
        let agrees = |head: &[u8]| {
            let length = head.len().min(beginning.len());
            let (head, beginning) = (head.get(..length), beginning.get(..length));
            head.zip(beginning)
                .is_some_and(|(head, beginning)| head.eq_ignore_ascii_case(beginning))
        };
        self.heads
            .as_ref()
            .is_none_or(|heads| heads.iter().any(|head| agrees(head)))
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.regex.captures_len().saturating_sub(1)
    }

    /// The octets with which everything begins that a group matches, or the whole expression as group 0. There may be
    /// none, and there are none if case is ignored.
    pub fn beginning_of_group(&self, number: usize) -> Vec<u8> {
        let hir = Translation::of(&self.text)
            .ok()
            .and_then(|translated| parsed(&translated));
        let group = hir
            .as_ref()
            .filter(|_| !self.is_case_ignored)
            .and_then(|hir| match number {
                0 => Some(hir),
                _ => group(hir, number),
            });
        let literals = group.map(|group| Extractor::new().extract(group));
        let common = literals.as_ref().and_then(Seq::longest_common_prefix);
        common.map(<[u8]>::to_vec).unwrap_or_default()
    }

    /// The place of the first match in `text`: of the whole match, and of each group. `None` for a group that takes no
    /// part in the match.
    pub fn find(&self, text: &[u8]) -> Option<Vec<Option<(usize, usize)>>> {
        let found: Captures<'_> = self.regex.captures(text)?;
        let spans = found
            .iter()
            .map(|group| group.map(|group| (group.start(), group.end())));
        Some(spans.collect())
    }
}

/// The literals that matches begin with, if each match begins where the text does.
fn heads(translated: &str) -> Option<Arc<[Box<[u8]>]>> {
    // If case were ignored, there would be a literal for each way to write it.
    let hir = parsed(translated)?;
    if !hir.properties().look_set_prefix().contains(Look::Start) {
        return None;
    }
    let literals = Extractor::new().extract(&hir);
    let heads = literals.literals()?.iter();
    let heads: Vec<Box<[u8]>> = heads.map(|head| head.as_bytes().into()).collect();
    // An empty literal fits every text.
    (!heads.iter().any(|head| head.is_empty())).then(|| heads.into())
}

fn parsed(translated: &str) -> Option<Hir> {
    let mut parser = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .dot_matches_new_line(true)
        .build();
    parser.parse(translated).ok()
}

/// What stands in a group.
fn group(hir: &Hir, number: usize) -> Option<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) if usize::try_from(capture.index) == Ok(number) => Some(&capture.sub),
        kind => kind.subs().iter().find_map(|sub| group(sub, number)),
    }
}

/// The crate draws a picture of the place above the reason. This is the reason.
fn last_line(text: &str) -> String {
    let reason = text.lines().last().unwrap_or_default();
    reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
}

impl PartialEq for PosixRegex {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.is_case_ignored == other.is_case_ignored
    }
}

impl Eq for PosixRegex {}

impl fmt::Debug for PosixRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.text)
    }
}

/// The rest of the text holds the colon that begins the class.
const CLASSES: [&str; 12] = [
    ":alnum", ":alpha", ":blank", ":cntrl", ":digit", ":graph", ":lower", ":print", ":punct", ":space", ":upper",
    ":xdigit",
];

/// Rewrites an expression.
struct Translation<'a> {
    rest: std::str::Chars<'a>,
    out: String,
    /// Where the last item that can be repeated begins in `out`.
    atom: Option<usize>,
    /// Whether it is repeated already.
    is_repeated: bool,
    /// Where the open groups begin.
    open: Vec<usize>,
}

impl<'a> Translation<'a> {
    fn of(text: &'a str) -> Result<String, RegexError> {
        let mut translation = Self {
            rest: text.chars(),
            out: String::with_capacity(text.len() + 8),
            atom: None,
            is_repeated: false,
            open: Vec::new(),
        };
        while let Some(next) = translation.rest.next() {
            translation.one(next)?;
        }
        if !translation.open.is_empty() {
            return Err(RegexError::Malformed("unmatched ( or \\(".to_owned()));
        }
        Ok(translation.out)
    }

    fn one(&mut self, next: char) -> Result<(), RegexError> {
        match next {
            '\\' => self.escape()?,
            '[' => self.bracket()?,
            '(' => {
                self.open.push(self.out.len());
                self.out.push('(');
                self.atom = None;
            }
            ')' => match self.open.pop() {
                Some(start) => {
                    self.out.push(')');
                    self.begin_atom(start);
                }
                // Outside a group it stands for itself.
                None => self.literal(')'),
            },
            '|' | '^' => {
                self.out.push(next);
                self.atom = None;
            }
            // glibc takes a repetition of nothing for the character itself.
            '*' | '+' | '?' if self.atom.is_none() => self.literal(next),
            '*' | '+' | '?' => self.repeat(&next.to_string()),
            '{' => self.interval(),
            '.' | '$' => {
                self.begin_atom(self.out.len());
                self.out.push(next);
            }
            other => self.literal(other),
        }
        Ok(())
    }

    fn begin_atom(&mut self, start: usize) {
        self.atom = Some(start);
        self.is_repeated = false;
    }

    fn literal(&mut self, character: char) {
        self.begin_atom(self.out.len());
        let mut buffer = [0; 4];
        self.out.push_str(&regex::escape(character.encode_utf8(&mut buffer)));
    }

    /// To the crate `a*?` means something else: an item that is repeated again becomes a group first.
    fn repeat(&mut self, how: &str) {
        if self.is_repeated
            && let Some(start) = self.atom
        {
            self.out.insert_str(start, "(?:");
            self.out.push(')');
        }
        self.out.push_str(how);
        self.is_repeated = true;
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        let Some(next) = self.rest.next() else {
            return Err(RegexError::Malformed("trailing backslash".to_owned()));
        };
        let start = self.out.len();
        self.begin_atom(start);
        match next {
            '1'..='9' => return Err(RegexError::BackReference),
            // glibc's own.
            'w' | 'W' | 's' | 'S' | 'b' | 'B' => {
                self.out.push('\\');
                self.out.push(next);
            }
            '<' => self.out.push_str("\\b{start}"),
            '>' => self.out.push_str("\\b{end}"),
            '`' => self.out.push_str("\\A"),
            '\'' => self.out.push_str("\\z"),
            other => self.literal(other),
        }
        Ok(())
    }

    /// A bracket expression. Backslashes stand for themselves, and so does `]` at the beginning.
    fn bracket(&mut self) -> Result<(), RegexError> {
        let unfinished = || RegexError::Malformed("unmatched [, [^, [:, [., or [=".to_owned());
        self.begin_atom(self.out.len());
        self.out.push('[');
        let mut next = self.rest.next().ok_or_else(unfinished)?;
        if next == '^' {
            self.out.push('^');
            next = self.rest.next().ok_or_else(unfinished)?;
        }
        let mut is_first = true;
        loop {
            match next {
                ']' if !is_first => break,
                '[' if self.rest.as_str().starts_with(':') => {
                    let (class, rest) = self.rest.as_str().split_once(":]").ok_or_else(unfinished)?;
                    if !CLASSES.contains(&class) {
                        return Err(RegexError::Malformed("invalid character class name".to_owned()));
                    }
                    self.out.push('[');
                    self.out.push_str(class);
                    self.out.push_str(":]");
                    self.rest = rest.chars();
                }
                '[' if self.rest.as_str().starts_with(['.', '=']) => {
                    return Err(RegexError::Malformed("collating elements are not supported".to_owned()));
                }
                '-' if is_first || self.rest.as_str().starts_with(']') => self.out.push_str("\\-"),
                '-' => self.out.push('-'),
                other => self.member(other),
            }
            is_first = false;
            next = self.rest.next().ok_or_else(unfinished)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn member(&mut self, character: char) {
        if character.is_ascii() {
            if character.is_ascii_punctuation() {
                self.out.push('\\');
            }
            self.out.push(character);
            return;
        }
        // Octets, as in a program that knows no multi-byte characters.
        let mut buffer = [0; 4];
        for octet in character.encode_utf8(&mut buffer).bytes() {
            let _ = write!(self.out, "\\x{octet:02x}");
        }
    }

    /// `{1}`, `{1,}`, `{1,3}`, `{,3}`. Anything else stands for the character itself.
    fn interval(&mut self) {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let inner = self.rest.as_str().split_once('}').filter(|(inner, _)| {
            let (low, high) = inner.split_once(',').unwrap_or((inner, ""));
            is_digits(low) && is_digits(high) && !(low.is_empty() && high.is_empty())
        });
        let Some((inner, rest)) = inner.filter(|_| self.atom.is_some()) else {
            return self.literal('{');
        };
        let zero = if inner.starts_with(',') { "0" } else { "" };
        self.repeat(&format!("{{{zero}{inner}}}"));
        self.rest = rest.chars();
    }
}

#[cfg(test)]
mod tests;
