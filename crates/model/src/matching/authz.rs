//! authzMatch: equality of authorization rules, as OpenLDAP has it.

use super::MatchingRule;
use crate::{
    Dn, Schema,
    syntax::{InvalidValue, oid},
};

pub(super) static ROWS: &[MatchingRule] = &[MatchingRule::equality(
    "1.3.6.1.4.1.4203.666.4.12",
    "authzMatch",
    oid::AUTHZ,
    normalize,
    &[oid::AUTHZ],
)
.hidden()
.not_extensible()];

/// The kind in lower case and, where what follows is a name, its normal form; the rest as written.
fn normalize(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let start = out.len();
    let mut rule = value;
    if let Some((order, rest)) = order_prefix(value) {
        out.extend_from_slice(order);
        rule = rest;
    }
    let colon = memchr::memchr(b':', rule).unwrap_or(0);
    let (kind, rest) = rule.split_at_checked(colon).ok_or(InvalidValue)?;
    let lower = kind.to_ascii_lowercase();
    let is_kind = !kind.contains(&b'=') && !kind.is_empty();
    if is_kind {
        out.extend_from_slice(&lower);
        out.push(b':');
    }
    let body = if is_kind {
        rest.get(1..).unwrap_or_default()
    } else {
        rule
    };
    let names_a_dn = !is_kind || lower.starts_with(b"group") || (lower.starts_with(b"dn") && lower != b"dn.regex");
    if !names_a_dn || body == b"*" {
        out.extend_from_slice(body);
        return Ok(());
    }
    let Ok(dn) = Dn::parse(schema, body) else {
        out.truncate(start);
        return Err(InvalidValue);
    };
    out.extend_from_slice(dn.normalized());
    Ok(())
}

/// `{n}` of `X-ORDERED`, and what follows.
fn order_prefix(value: &[u8]) -> Option<(&[u8], &[u8])> {
    if value.first() != Some(&b'{') {
        return None;
    }
    let end = memchr::memchr(b'}', value)?;
    let (prefix, rest) = value.split_at_checked(end + 1)?;
    let digits = prefix.get(1..end)?;
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some((prefix, rest))
}
