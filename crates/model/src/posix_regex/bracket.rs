//! Bracket expressions: `[a-z]`, `[^]+--]`, `[[:alpha:]_[.-.]]`.

use regex_syntax::hir::{ClassBytes, ClassBytesRange};

use super::{
    RegexError,
    octets::{self, Case},
};

/// What stands between the brackets.
enum Element {
    /// An octet, which may be an end of a range.
    Octet(u8),
    /// A class, which may not.
    Class(ClassBytes),
}

/// Reads a bracket expression behind its `[`; `rest` is then what follows its `]`. Backslashes stand for themselves.
///
/// # Errors
/// glibc refuses it.
pub(super) fn set(rest: &mut &[u8], case: Case) -> Result<ClassBytes, RegexError> {
    let mut set = octets::of(&[]);
    let is_negated = skip(rest, b"^");
    let mut is_first = true;
    while is_first || !skip(rest, b"]") {
        match element(rest, case, is_first)? {
            Element::Class(class) => set.union(&class),
            Element::Octet(first) => {
                let last = if skip_range(rest) {
                    element(rest, case, true)?
                } else {
                    Element::Octet(first)
                };
                match last {
                    Element::Octet(last) if first <= last => set.push(ClassBytesRange::new(first, last)),
                    _ => return Err(RegexError::malformed(RANGE)),
                }
            }
        }
        is_first = false;
    }
    Ok(if is_negated { octets::except(set) } else { set })
}

/// Reads one element. A hyphen stands for itself as the first or the last one, and as the end of a range.
fn element(rest: &mut &[u8], case: Case, may_be_hyphen: bool) -> Result<Element, RegexError> {
    for mark in [b'.', b'=', b':'] {
        if skip(rest, &[b'[', mark]) {
            return symbol(rest, case, mark);
        }
    }
    let unfinished = || RegexError::malformed(UNFINISHED);
    let (octet, after) = rest.split_first().ok_or_else(unfinished)?;
    *rest = after;
    if *octet == b'-' && !may_be_hyphen && !after.starts_with(b"]") {
        return Err(RegexError::malformed(RANGE));
    }
    Ok(Element::Octet(case.meant(*octet)))
}

/// Reads what follows `[.`, `[=` or `[:`. In locale C, a collating element and an equivalence class are one octet.
fn symbol(rest: &mut &[u8], case: Case, mark: u8) -> Result<Element, RegexError> {
    let unfinished = || RegexError::malformed(UNFINISHED);
    let end = memchr::memmem::find(rest, &[mark, b']']).ok_or_else(unfinished)?;
    let (name, after) = rest.split_at_checked(end).ok_or_else(unfinished)?;
    *rest = after.get(2..).unwrap_or_default();
    match (mark, name) {
        (b':', name) => octets::named(name, case)
            .map(Element::Class)
            .ok_or_else(|| RegexError::malformed("invalid character class name")),
        (b'.', [octet]) => Ok(Element::Octet(case.meant(*octet))),
        (_, [octet]) => Ok(Element::Class(octets::one(case.meant(*octet)))),
        _ => Err(RegexError::malformed("invalid collation character")),
    }
}

/// Passes the hyphen of a range. One before the closing bracket is none.
fn skip_range(rest: &mut &[u8]) -> bool {
    !rest.starts_with(b"-]") && skip(rest, b"-")
}

fn skip(rest: &mut &[u8], what: &[u8]) -> bool {
    let after = rest.strip_prefix(what);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

const UNFINISHED: &str = "unmatched [, [^, [:, [., or [=";
const RANGE: &str = "invalid range end";
