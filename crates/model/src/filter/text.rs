//! The parser of the text form (RFC 4515).

use std::borrow::Cow;

use super::{Assertion, Filter};

/// Why a text is no filter, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("bad search filter at byte {offset}: {kind}")]
pub struct FilterError {
    /// Offset in the text, from 0.
    pub offset: usize,
    /// Why.
    pub kind: FilterErrorKind,
}

/// Why a text is no filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FilterErrorKind {
    /// A parenthesis is missing, or there is one too many.
    #[error("unbalanced parentheses")]
    Unbalanced,
    /// Something else than a filter.
    #[error("a filter is expected here")]
    Unexpected,
    /// `!` takes exactly one operand.
    #[error("'!' takes exactly one filter")]
    NotOperands,
    /// More nesting than allowed.
    #[error("nested too deeply")]
    TooDeep,
    /// No attribute description or matching rule before the `=`, or a malformed one.
    #[error("malformed attribute description or matching rule")]
    BadDescription,
    /// A bad escape or a character that must be escaped.
    #[error("bad escape or unescaped special character in a value")]
    BadValue,
    /// An empty part between two asterisks.
    #[error("empty substring")]
    EmptySubstring,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Connective {
    And,
    Or,
    Not,
}

struct Open<'a> {
    connective: Connective,
    at: usize,
    children: Vec<Filter<'a>>,
}

/// Parses a whole text. Iterative: depth costs heap, bounded by `max_depth`, and no stack.
pub(super) fn parse(text: &[u8], max_depth: usize) -> Result<Filter<'_>, FilterError> {
    let mut at = skip_spaces(text, 0);
    if text.get(at) != Some(&b'(') {
        return item(text, at, text.len());
    }
    let mut open: Vec<Open<'_>> = Vec::new();
    loop {
        at = skip_spaces(text, at);
        let done = match text.get(at) {
            Some(b'(') => {
                at = skip_spaces(text, at + 1);
                if let Some(connective) = connective(text.get(at)) {
                    if open.len() >= max_depth {
                        return Err(error(at, FilterErrorKind::TooDeep));
                    }
                    open.push(Open {
                        connective,
                        at,
                        children: Vec::new(),
                    });
                    at += 1;
                    continue;
                }
                let end = item_end(text, at)?;
                let filter = item(text, at, end)?;
                at = end + 1;
                filter
            }
            Some(b')') => {
                let closed = open.pop().ok_or(error(at, FilterErrorKind::Unbalanced))?;
                at += 1;
                close(closed)?
            }
            Some(_) => return Err(error(at, FilterErrorKind::Unexpected)),
            None => return Err(error(at, FilterErrorKind::Unbalanced)),
        };
        let Some(parent) = open.last_mut() else {
            at = skip_spaces(text, at);
            return if at == text.len() {
                Ok(done)
            } else {
                Err(error(at, FilterErrorKind::Unexpected))
            };
        };
        parent.children.push(done);
    }
}

fn connective(byte: Option<&u8>) -> Option<Connective> {
    match byte? {
        b'&' => Some(Connective::And),
        b'|' => Some(Connective::Or),
        b'!' => Some(Connective::Not),
        _ => None,
    }
}

fn close(open: Open<'_>) -> Result<Filter<'_>, FilterError> {
    let Open {
        connective,
        at,
        mut children,
    } = open;
    match connective {
        Connective::And => Ok(Filter::And(children)),
        Connective::Or => Ok(Filter::Or(children)),
        Connective::Not => match (children.pop(), children.is_empty()) {
            (Some(only), true) => Ok(Filter::Not(Box::new(only))),
            _ => Err(error(at, FilterErrorKind::NotOperands)),
        },
    }
}

fn error(offset: usize, kind: FilterErrorKind) -> FilterError {
    FilterError { offset, kind }
}

fn skip_spaces(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len())
}

/// The offset of the parenthesis that closes the item at `start`.
fn item_end(text: &[u8], start: usize) -> Result<usize, FilterError> {
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match byte {
            b')' => return Ok(at),
            b'(' => return Err(error(at, FilterErrorKind::BadValue)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Err(error(text.len(), FilterErrorKind::Unbalanced))
}

/// Parses the item in `text[start..end]`.
fn item(text: &[u8], start: usize, end: usize) -> Result<Filter<'_>, FilterError> {
    let item = text.get(start..end).unwrap_or_default();
    let bad_description = error(start, FilterErrorKind::BadDescription);
    let equals = memchr::memchr(b'=', item).ok_or(bad_description)?;
    let (left, value) = (
        item.get(..equals).unwrap_or_default(),
        item.get(equals + 1..).unwrap_or_default(),
    );
    let value_at = start + equals + 1;
    let assertion = |attribute: &'_ [u8]| -> Result<(), FilterError> {
        if is_description(attribute) {
            Ok(())
        } else {
            Err(bad_description)
        }
    };
    match left.split_last() {
        Some((b':', names)) => extensible(names, value, value_at, bad_description),
        Some((operator @ (b'>' | b'<' | b'~'), attribute)) => {
            assertion(attribute)?;
            let assertion = Assertion {
                attribute: Cow::Borrowed(attribute),
                value: unescape(value, value_at)?,
            };
            Ok(match operator {
                b'>' => Filter::GreaterOrEqual(assertion),
                b'<' => Filter::LessOrEqual(assertion),
                _ => Filter::Approx(assertion),
            })
        }
        _ => {
            assertion(left)?;
            equality(left, value, value_at)
        }
    }
}

/// `a=v`, `a=*` or `a=i*x*f`.
fn equality<'a>(attribute: &'a [u8], value: &'a [u8], at: usize) -> Result<Filter<'a>, FilterError> {
    let attribute = Cow::Borrowed(attribute);
    if value == b"*" {
        return Ok(Filter::Present(attribute));
    }
    let Some(first) = asterisk(value) else {
        return Ok(Filter::Equality(Assertion {
            attribute,
            value: unescape(value, at)?,
        }));
    };
    let part = |range: std::ops::Range<usize>| -> Result<Option<Cow<'a, [u8]>>, FilterError> {
        let raw = value.get(range.clone()).unwrap_or_default();
        Ok(if raw.is_empty() {
            None
        } else {
            Some(unescape(raw, at + range.start)?)
        })
    };
    let initial = part(0..first)?;
    let (mut any, mut from) = (Vec::new(), first + 1);
    while let Some(next) = asterisk(value.get(from..).unwrap_or_default()) {
        any.push(part(from..from + next)?.ok_or(error(at + from, FilterErrorKind::EmptySubstring))?);
        from += next + 1;
    }
    let r#final = part(from..value.len())?;
    Ok(Filter::Substrings {
        attribute,
        initial,
        any,
        r#final,
    })
}

/// The first asterisk that is not escaped.
fn asterisk(value: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'*', b'\\', value.get(at..)?)?;
        if value.get(at) == Some(&b'*') {
            return Some(at);
        }
        at += 2;
    }
}

/// `type [:dn] [:rule] := value` or `[:dn] :rule := value`; `names` is the text before `:=`.
fn extensible<'a>(names: &'a [u8], value: &'a [u8], at: usize, bad: FilterError) -> Result<Filter<'a>, FilterError> {
    let mut fields = names.split(|&b| b == b':');
    let attribute = fields.next().filter(|a| !a.is_empty());
    let (second, third) = (fields.next(), fields.next());
    let is_dn = |field: &[u8]| field.eq_ignore_ascii_case(b"dn");
    let (dn_attributes, rule) = match (second, third, fields.next()) {
        (None, None, None) => (false, None),
        (Some(dn), None, None) if is_dn(dn) => (true, None),
        (Some(rule), None, None) => (false, Some(rule)),
        (Some(dn), Some(rule), None) if is_dn(dn) => (true, Some(rule)),
        _ => return Err(bad),
    };
    let well_formed =
        attribute.is_none_or(is_description) && rule.is_none_or(is_oid) && (attribute.is_some() || rule.is_some());
    if !well_formed {
        return Err(bad);
    }
    Ok(Filter::Extensible {
        rule: rule.map(Cow::Borrowed),
        attribute: attribute.map(Cow::Borrowed),
        value: unescape(value, at)?,
        dn_attributes,
    })
}

/// An attribute description by syntax alone (RFC 4512 §2.5).
fn is_description(text: &[u8]) -> bool {
    let mut fields = text.split(|&b| b == b';');
    fields.next().is_some_and(is_oid)
        && fields.all(|option| !option.is_empty() && option.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-'))
}

/// A descriptor or a numeric OID by syntax alone (RFC 4512 §1.4).
fn is_oid(text: &[u8]) -> bool {
    match text.first() {
        Some(b) if b.is_ascii_alphabetic() => text.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-'),
        Some(b) if b.is_ascii_digit() => text
            .split(|&b| b == b'.')
            .all(|arc| !arc.is_empty() && arc.iter().all(u8::is_ascii_digit)),
        _ => false,
    }
}

/// Takes the escapes out of a value. `at` is its offset in the text.
fn unescape(value: &[u8], at: usize) -> Result<Cow<'_, [u8]>, FilterError> {
    let bad = |offset: usize| error(at + offset, FilterErrorKind::BadValue);
    if let Some(offset) = value.iter().position(|b| matches!(b, b'\\' | b'(' | b')' | b'*' | 0)) {
        if value.get(offset) != Some(&b'\\') {
            return Err(bad(offset));
        }
    } else {
        return Ok(Cow::Borrowed(value));
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied().enumerate();
    while let Some((offset, byte)) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some((_, special @ (b'(' | b')' | b'*' | b'\\'))) => plain.push(special),
                Some((_, high)) => {
                    let low = bytes.next().ok_or(bad(offset))?.1;
                    plain.push(hex_pair(high, low).ok_or(bad(offset))?);
                }
                None => return Err(bad(offset)),
            },
            b'(' | b')' | b'*' | 0 => return Err(bad(offset)),
            other => plain.push(other),
        }
    }
    Ok(Cow::Owned(plain))
}

/// The byte that two hexadecimal digits stand for.
pub(crate) fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'a'..=b'f' => Some(d - b'a' + 10),
        b'A'..=b'F' => Some(d - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}
