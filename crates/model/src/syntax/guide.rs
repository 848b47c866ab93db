//! Guide and Enhanced Guide (RFC 4517 §3.3.10, §3.3.14): criteria for searching.

use super::{InvalidValue, Syntax, names::object_identifier, require};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.21", "Enhanced Guide", enhanced_guide).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.25", "Guide", guide).hidden(),
];

/// Greatest depth of nested parentheses.
const MAXIMUM_DEPTH: usize = 64;

/// `class # criteria # subset`.
fn enhanced_guide(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const SUBSETS: [&[u8]; 3] = [b"baseobject", b"oneLevel", b"wholeSubtree"];
    let mut parts = value.split(|byte| *byte == b'#');
    let (Some(class), Some(found), Some(subset), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(InvalidValue);
    };
    object_identifier(schema, class.trim_ascii())?;
    require(criteria(found.trim_ascii()))?;
    let subset = subset.trim_ascii();
    require(SUBSETS.iter().any(|known| subset.eq_ignore_ascii_case(known)))
}

/// `[class #] criteria`.
fn guide(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut found = value;
    if let Some((class, rest)) = memchr::memchr(b'#', value).and_then(|position| value.split_at_checked(position)) {
        object_identifier(schema, class.trim_ascii())?;
        found = rest.get(1..).unwrap_or_default();
    }
    require(criteria(found.trim_ascii()))
}

/// Terms with `!`, `&`, `|` and parentheses. A counter replaces recursion.
fn criteria(text: &[u8]) -> bool {
    let mut rest = text;
    let mut depth = 0;
    loop {
        // A term is due.
        match rest {
            [b'!', after @ ..] => {
                rest = after;
                continue;
            }
            [b'(', after @ ..] => {
                depth += 1;
                if depth > MAXIMUM_DEPTH {
                    return false;
                }
                rest = after;
                continue;
            }
            _ => {
                let end = rest
                    .iter()
                    .position(|byte| matches!(byte, b'&' | b'|' | b')' | b'(' | b'!'))
                    .unwrap_or(rest.len());
                let Some((term, after)) = rest.split_at_checked(end) else {
                    return false;
                };
                if !is_term(term) {
                    return false;
                }
                rest = after;
            }
        }
        // An operator, closing parentheses or the end.
        while let [b')', after @ ..] = rest {
            if depth == 0 {
                return false;
            }
            depth -= 1;
            rest = after;
        }
        match rest {
            [] => return depth == 0,
            [b'&' | b'|', after @ ..] => rest = after,
            _ => return false,
        }
    }
}

/// `?true`, `?false` or `type$match`.
fn is_term(term: &[u8]) -> bool {
    const MATCHES: [&[u8]; 5] = [b"EQ", b"SUBSTR", b"GE", b"LE", b"APPROX"];
    if term.eq_ignore_ascii_case(b"?true") || term.eq_ignore_ascii_case(b"?false") {
        return true;
    }
    let Some((name, kind)) = memchr::memchr(b'$', term).and_then(|position| term.split_at_checked(position)) else {
        return false;
    };
    let kind = kind.get(1..).unwrap_or_default();
    let named =
        crate::schema::is_numeric_oid(name) || std::str::from_utf8(name).is_ok_and(crate::schema::is_descriptor);
    named && MATCHES.iter().any(|known| kind.eq_ignore_ascii_case(known))
}
