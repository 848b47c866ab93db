//! OpenLDAP authz (1.3.6.1.4.1.4203.666.2.7): rules of who may act as whom (slapd.conf(5), `authz-policy`).

use super::{InvalidValue, Syntax, oid, require, text};
use crate::{Dn, Schema};

pub(super) static ROWS: &[Syntax] = &[Syntax::text(oid::AUTHZ, "OpenLDAP authz", authz).hidden()];

fn authz(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let rule = without_order_prefix(text(value)?);
    if rule == "*" {
        return Ok(());
    }
    if has_prefix(rule, "ldap://") || has_prefix(rule, "ldaps://") || has_prefix(rule, "ldapi://") {
        return Ok(());
    }
    let (kind, name) = match rule.split_once(':') {
        Some((kind, name)) if !kind.contains('=') => (kind, name),
        _ => return is_dn(schema, rule),
    };
    let mut words = kind.split(['.', '/']);
    let first = words.next().unwrap_or_default();
    if first.eq_ignore_ascii_case("dn") {
        return match kind.get(2..).unwrap_or_default().to_ascii_lowercase().as_str() {
            "" | ".exact" | ".base" | ".onelevel" | ".one" | ".children" | ".subtree" | ".sub" => is_dn(schema, name),
            // A regular expression is compiled where it is used.
            ".regex" => require(!name.is_empty()),
            _ => Err(InvalidValue),
        };
    }
    if first.eq_ignore_ascii_case("u") {
        return require(!name.is_empty());
    }
    if first.eq_ignore_ascii_case("group") {
        // `group[/class[/attribute]]:dn`, with `.exact` tolerated.
        let valid = words.clone().count() <= 3 && words.all(crate::schema::is_descriptor);
        require(valid)?;
        return is_dn(schema, name);
    }
    is_dn(schema, rule)
}

/// The rule behind the `{n}` of `X-ORDERED`.
fn without_order_prefix(rule: &str) -> &str {
    match rule.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => rule,
    }
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn is_dn(schema: &Schema, name: &str) -> Result<(), InvalidValue> {
    Dn::parse(schema, name.as_bytes()).map(|_| ()).map_err(|_| InvalidValue)
}
