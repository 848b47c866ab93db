//! POSIX extended regular expressions (IEEE 1003.1 §9.4), as slapd's settings use them. They mean what they mean to
//! regcomp and regexec of glibc in locale C, which slapd calls. A test compares both with random expressions.
//!
//! An expression is read here and becomes data: sets of octets, branches, repetitions. The crate `regex-automata`
//! matches these in linear time. Its own parser never sees the text. To that grammar, `--`, `&&` and `~~` in brackets
//! are operations on sets; a rule that refuses would then let through what the expression names.
//!
//! As in glibc:
//! - Case: if it is ignored, expression and text are compared in upper case. So `[_-a]` is refused: its end is before
//!   its beginning. Only ASCII letters have case.
//! - Escapes: `\w \W \s \S` are sets, and ``\b \B \< \> \` \'`` are assertions, like `^` and `$`. Any other escaped
//!   character stands for itself. But an escaped small letter is not put in upper case: if case is ignored, `\d` and
//!   `\n` match nothing.
//! - Repetitions: `*`, `+`, `?` and `{` are refused at the beginning and behind `(`, `|` and assertions. So is an
//!   interval that is malformed.
//! - Matches: the leftmost one counts, and of those that begin there the longest. If it is reached in several ways, the
//!   first branch that fits counts, and each repetition takes what it can. A group tells what it matched last.
//! - `^` and `$` are the ends of the text, even if it has newlines. `.` and `[^a]` match a newline.
//!
//! Unlike glibc:
//! - Refused are back-references, as linear time is not enough for them; a NUL, where glibc takes the beginning for the
//!   whole; and what is beyond the limits ([`RegexError::TooBig`]).
//! - A NUL in a text is an octet like any other. To glibc the text ends there.
//! - Faults of glibc are not copied. It may be wrong about an assertion other than `^` at the beginning and `$` at the
//!   end if something is repeated, as in `(^a|b)*` and `a*\B`, or a group is empty, as in `()^`. And it takes a newline
//!   for an end of the text if something is matched behind `$` or before `^`.
//! - Submatches may differ if there is such an assertion; if what is repeated may match the empty text; and if it
//!   matches texts of various lengths, and the repetition has two bounds, as in `(a|ab){1,3}`.

mod bracket;
mod octets;
mod parse;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use regex_automata::{Anchored, Input, MatchKind, meta, util::primitives::NonMaxUsize};
use regex_syntax::hir::{
    Hir, HirKind, Look,
    literal::{Extractor, Seq},
};

use self::{
    octets::Case,
    parse::{Expression, parse},
};

/// A compiled expression.
#[derive(Clone)]
pub struct PosixRegex {
    text: String,
    case: Case,
    groups: usize,
    /// Finds a match, and where the leftmost one begins.
    leftmost: meta::Regex,
    /// Finds the longest match that begins at a given place; compiled when it is first needed. `None`: each match ends
    /// where the text ends, so that the leftmost one is the longest.
    longest: Option<Arc<OnceLock<meta::Regex>>>,
    /// Each matching text begins with one of these, in any case. `None`: it may begin with anything.
    heads: Option<Arc<[Box<[u8]>]>>,
}

/// Why an expression is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegexError {
    /// `\1`.
    #[error("back-references are not supported")]
    BackReference,
    /// glibc refuses it, or it has a NUL octet.
    #[error("{0}")]
    Malformed(String),
    /// It would take more memory than [`MAX_COMPILED_BYTES`], is nested deeper than [`MAX_LEVELS`], or has an interval
    /// beyond glibc's limit, 32,767.
    #[error("it is too big")]
    TooBig,
}

/// Memory that one compiled expression may take.
pub const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Groups and repetitions that may stand in each other.
pub const MAX_LEVELS: usize = 80;
/// Groups that tell what they have matched. As in slapd, there are 100 submatches with the whole match.
pub const MAX_GROUPS: usize = 99;

impl RegexError {
    fn malformed(reason: &str) -> Self {
        Self::Malformed(reason.to_owned())
    }
}

impl PosixRegex {
    /// Compiles an expression for which upper and lower case are the same.
    ///
    /// # Errors
    /// It is malformed, has back-references, or is too big.
    pub fn new(text: &str) -> Result<Self, RegexError> {
        Self::compile(text, Case::Ignored)
    }

    /// Compiles an expression for which upper and lower case are different.
    ///
    /// # Errors
    /// As of [`PosixRegex::new`].
    pub fn case_sensitive(text: &str) -> Result<Self, RegexError> {
        Self::compile(text, Case::Kept)
    }

    fn compile(text: &str, case: Case) -> Result<Self, RegexError> {
        let Expression { hir, groups } = parse(text, case)?;
        let ends_with_text = hir.properties().look_set_suffix().contains(Look::End);
        Ok(Self {
            text: text.to_owned(),
            case,
            groups,
            leftmost: compiled(&hir, MatchKind::LeftmostFirst)?,
            longest: (!ends_with_text).then(Arc::default),
            heads: heads(text, case, hir),
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in `text`.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.leftmost.is_match(text)
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
        self.groups
    }

    /// The octets with which everything begins that a group matches, or the whole expression as group 0. There may be
    /// none, and there are none if case is ignored.
    pub fn beginning_of_group(&self, number: usize) -> Vec<u8> {
        let read = parse(&self.text, Case::Kept).ok().filter(|_| self.case == Case::Kept);
        let group = read.as_ref().and_then(|read| match number {
            0 => Some(&read.hir),
            _ => group(&read.hir, number),
        });
        let literals = group.map(|group| Extractor::new().extract(group));
        let common = literals.as_ref().and_then(Seq::longest_common_prefix);
        common.map(<[u8]>::to_vec).unwrap_or_default()
    }

    /// The place of the leftmost longest match in `text`, and those of the first [`MAX_GROUPS`] groups. `None` for a
    /// group that takes no part in the match.
    pub fn find(&self, text: &[u8]) -> Option<Vec<Option<(usize, usize)>>> {
        match &self.longest {
            None => self.spans(&self.leftmost, &Input::new(text)),
            Some(longest) => {
                let start = self.leftmost.find(text)?.start();
                let input = Input::new(text).range(start..).anchored(Anchored::Yes);
                self.spans(self.longest(longest), &input)
            }
        }
    }

    fn longest<'a>(&'a self, longest: &'a OnceLock<meta::Regex>) -> &'a meta::Regex {
        longest.get_or_init(|| {
            let read = parse(&self.text, self.case);
            let made = read.and_then(|read| compiled(&read.hir, MatchKind::All));
            // This one is within the limits if the other one is: they have the same states.
            made.unwrap_or_else(|_| self.leftmost.clone())
        })
    }

    fn spans(&self, engine: &meta::Regex, input: &Input<'_>) -> Option<Vec<Option<(usize, usize)>>> {
        let mut ends: Vec<Option<NonMaxUsize>> = vec![None; engine.group_info().slot_len()];
        engine.search_slots(input, &mut ends)?;
        let end = |at: usize| ends.get(at).copied().flatten().map(NonMaxUsize::get);
        let spans = (0..=self.groups.min(MAX_GROUPS)).map(|number| end(2 * number).zip(end(2 * number + 1)));
        Some(spans.collect())
    }
}

fn compiled(hir: &Hir, kind: MatchKind) -> Result<meta::Regex, RegexError> {
    let limits = meta::Config::new()
        .match_kind(kind)
        // With full DFAs, regex-automata 0.4.16 to 0.4.18 find `([^,]+),(.*),` in `a, b`. They are there if any crate
        // asks for them.
        .dfa(false)
        .utf8_empty(false)
        .nfa_size_limit(Some(MAX_COMPILED_BYTES));
    let built = meta::Builder::new().configure(limits).build_from_hir(hir);
    built.map_err(|error| match error.size_limit() {
        Some(_) => RegexError::TooBig,
        None => RegexError::Malformed(error.to_string()),
    })
}

/// The literals that matches begin with, if each match begins where the text does.
fn heads(text: &str, case: Case, hir: Hir) -> Option<Arc<[Box<[u8]>]>> {
    if !hir.properties().look_set_prefix().contains(Look::Start) {
        return None;
    }
    // If case were ignored, there would be a literal for each way to write it.
    let hir = match case {
        Case::Ignored => parse(text, Case::Upper).ok()?.hir,
        Case::Kept | Case::Upper => hir,
    };
    let literals = Extractor::new().extract(&hir);
    let heads = literals.literals()?.iter();
    let heads: Vec<Box<[u8]>> = heads.map(|head| head.as_bytes().into()).collect();
    // An empty literal fits every text.
    (!heads.iter().any(|head| head.is_empty())).then(|| heads.into())
}

/// What stands in a group.
fn group(hir: &Hir, number: usize) -> Option<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) if usize::try_from(capture.index) == Ok(number) => Some(&capture.sub),
        kind => kind.subs().iter().find_map(|sub| group(sub, number)),
    }
}

impl PartialEq for PosixRegex {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.case == other.case
    }
}

impl Eq for PosixRegex {}

impl fmt::Debug for PosixRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.text)
    }
}

#[cfg(test)]
mod tests;
