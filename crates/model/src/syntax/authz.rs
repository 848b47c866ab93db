//! OpenLDAP authz (1.3.6.1.4.1.4203.666.2.7): rules that say who may act as whom (slapd.conf(5), `authz-policy`).

use super::{InvalidValue, Syntax, oid, require, text};
use crate::{Dn, Schema};

pub(super) static ROWS: &[Syntax] = &[Syntax::text(oid::AUTHZ, "OpenLDAP authz", authz).hidden()];

/// How the name in a rule is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Pretty,
    Normal,
}

/// Appends the stored form of a rule: a name in pretty form after `dn:`. A star, which stands for anybody, is stored as
/// `dn:*`.
///
/// # Errors
/// The value is not a rule. Nothing is appended then.
pub fn pretty(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    write(schema, value, Form::Pretty, out)
}

/// Appends the compared form of a rule.
///
/// # Errors
/// As [`pretty`].
pub(crate) fn normalize(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    write(schema, value, Form::Normal, out)
}

fn authz(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    write(schema, value, Form::Pretty, &mut Vec::new())
}

fn write(schema: &Schema, value: &[u8], form: Form, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let value = text(value)?;
    let rule = without_order_prefix(value);
    let order = value.strip_suffix(rule).unwrap_or_default();
    let written = rewritten(schema, rule, form)?;
    out.extend_from_slice(order.as_bytes());
    out.extend_from_slice(written.as_bytes());
    Ok(())
}

fn rewritten(schema: &Schema, rule: &str, form: Form) -> Result<String, InvalidValue> {
    if has_prefix(rule, "ldap://") || has_prefix(rule, "ldaps://") || has_prefix(rule, "ldapi://") {
        return Ok(rule.to_owned());
    }
    let (kind, name) = match rule.split_once(':') {
        Some((kind, name)) if !kind.contains('=') => (kind, name),
        _ => return named(schema, "dn", rule, form),
    };
    let lower = kind.to_ascii_lowercase();
    let mut words = lower.split(['.', '/']);
    match words.next().unwrap_or_default() {
        "dn" => match lower.as_str() {
            "dn" | "dn.exact" => named(schema, "dn", name, form),
            "dn.onelevel" | "dn.children" | "dn.subtree" => named(schema, &lower, name, form),
            // The user of the rule compiles the regular expression.
            "dn.regex" if name.trim_start_matches(' ') != "*" => {
                Ok(format!("dn.regex:{}", name.trim_start_matches(' ')))
            }
            "dn.regex" => Ok(ANYBODY.to_owned()),
            _ => Err(InvalidValue),
        },
        "u" => Ok(match form {
            Form::Pretty => rule.to_owned(),
            Form::Normal => format!("{lower}:{name}"),
        }),
        "group" => {
            // `group[/class[/attribute]]:dn`, with `.exact` tolerated.
            require(words.clone().count() <= 3 && words.all(crate::schema::is_descriptor))?;
            let kind = if form == Form::Pretty { kind } else { &lower };
            Ok(format!("{kind}:{}", name_of(schema, name, form)?))
        }
        _ => named(schema, "dn", rule, form),
    }
}

/// `kind:name`. A star stands for anybody, whatever the kind.
fn named(schema: &Schema, kind: &str, name: &str, form: Form) -> Result<String, InvalidValue> {
    let name = name.trim_start_matches(' ');
    if name == "*" {
        return Ok(ANYBODY.to_owned());
    }
    Ok(format!("{kind}:{}", name_of(schema, name, form)?))
}

fn name_of(schema: &Schema, name: &str, form: Form) -> Result<String, InvalidValue> {
    let dn = Dn::parse(schema, name.as_bytes()).map_err(|_| InvalidValue)?;
    Ok(match form {
        Form::Pretty => dn.pretty().to_owned(),
        Form::Normal => String::from_utf8_lossy(dn.normalized()).into_owned(),
    })
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

const ANYBODY: &str = "dn:*";

#[cfg(test)]
mod tests {
    use super::*;

    fn pretty_of(rule: &str) -> Option<String> {
        let mut out = Vec::new();
        pretty(&Schema::system(), rule.as_bytes(), &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    #[test]
    fn a_star_is_anybody_in_every_form_of_a_name() {
        for rule in [
            "*",
            "dn:*",
            "DN: *",
            "dn.exact:*",
            "dn.onelevel:*",
            "dn.children:*",
            "dn.subtree:*",
            "dn.regex:*",
        ] {
            assert_eq!(pretty_of(rule).as_deref(), Some("dn:*"), "{rule}");
        }
        assert_eq!(pretty_of("{3}dn:*").as_deref(), Some("{3}dn:*"));
        for rule in [
            "dn.base:*",
            "dn.one:*",
            "dn.sub:*",
            "dn.nonsense:uid=a",
            "group:*",
            "dn:cn=*x,",
        ] {
            assert_eq!(pretty_of(rule), None, "{rule}");
        }
    }

    #[test]
    fn names_are_pretty_and_compared_by_their_normal_form() {
        for (rule, pretty) in [
            ("UID=Ann, CN=x", "dn:uid=Ann,cn=x"),
            ("dn.exact:  UID=Ann,CN=x", "dn:uid=Ann,cn=x"),
            ("DN.Children:CN=X", "dn.children:cn=X"),
            ("dn.regex:", "dn.regex:"),
            ("dn.regex: ^uid=.*", "dn.regex:^uid=.*"),
            ("u:", "u:"),
            ("U.PLAIN/Realm:Ann", "U.PLAIN/Realm:Ann"),
            ("group/groupOfNames:CN=g", "group/groupOfNames:cn=g"),
            ("ldap:///CN=x??sub?(uid=a)", "ldap:///CN=x??sub?(uid=a)"),
        ] {
            assert_eq!(pretty_of(rule).as_deref(), Some(pretty), "{rule}");
            let normal = |rule: &str| {
                let mut out = Vec::new();
                normalize(&Schema::system(), rule.as_bytes(), &mut out).unwrap();
                out
            };
            assert_eq!(normal(rule), normal(pretty), "{rule}");
        }
    }
}
