//! The rules of `authzTo` and `authzFrom` (OpenLDAP authz syntax).

use ironbark_config::access::NameScope;
use ironbark_model::{Dn, PosixRegex};

use super::{
    Asking, find,
    name::{dn_of_user, mapped},
};
use crate::OperationError;

/// A rule: `dn[.<style>]:<name>`, `u[.<mechanism>[/<realm>]]:<user>`, `group[/<class>[/<attribute>]]:<name>`, a URL, a
/// name.
#[derive(Debug)]
enum Rule<'a> {
    /// `*`.
    Anybody,
    Name(NameScope, &'a str),
    Regex(&'a str),
    User {
        mechanism: &'a str,
        realm: Option<&'a str>,
        user: &'a str,
    },
    Group {
        class: &'a str,
        attribute: &'a str,
        group: &'a str,
    },
    Url(&'a str),
}

/// Whether a rule names somebody. A malformed rule names nobody.
///
/// # Errors
/// The storage failed.
pub(super) fn names(asking: Asking<'_>, text: &str, wanted: &Dn) -> Result<bool, OperationError> {
    let schema = &asking.configuration.schema;
    let parsed = |name: &str| Dn::parse(schema, name.as_bytes()).ok();
    Ok(match parse(text) {
        None => false,
        Some(Rule::Anybody) => !wanted.is_root(),
        Some(Rule::Name(scope, name)) => parsed(name).is_some_and(|name| scope.holds(&name, wanted)),
        Some(Rule::Regex(pattern)) => PosixRegex::new(pattern).is_ok_and(|regex| regex.is_match(wanted.normalized())),
        Some(Rule::User { mechanism, realm, user }) => match dn_of_user(schema, user, realm, Some(mechanism)) {
            Some(dn) => mapped(asking, dn)? == *wanted,
            None => false,
        },
        Some(Rule::Group {
            class,
            attribute,
            group,
        }) => match parsed(group) {
            Some(group) => find::is_member(asking, &group, class, attribute, wanted)?,
            None => false,
        },
        Some(Rule::Url(url)) => find::finds(asking, url, wanted)?,
    })
}

fn parse(text: &str) -> Option<Rule<'_>> {
    // `{n}` is the position of the rule among others.
    let text = match text.strip_prefix('{') {
        Some(rest) => rest.split_once('}')?.1,
        None => text,
    };
    if text == "*" {
        return Some(Rule::Anybody);
    }
    if find::is_url(text) {
        return Some(Rule::Url(text));
    }
    let Some((kind, value)) = text.split_once(':').filter(|(kind, _)| !kind.contains('=')) else {
        return Some(Rule::Name(NameScope::Base, text));
    };
    let (word, qualifier) = kind.split_at(kind.find(['.', '/']).unwrap_or(kind.len()));
    match word.to_ascii_lowercase().as_str() {
        "dn" => by_name(qualifier, value.trim_start_matches(' ')),
        "u" => {
            let (mechanism, realm) = match qualifier.strip_prefix('.') {
                None if qualifier.is_empty() => ("authz", None),
                None => return None,
                Some(names) => names
                    .split_once('/')
                    .map_or((names, None), |(mechanism, realm)| (mechanism, Some(realm))),
            };
            Some(Rule::User {
                mechanism,
                realm,
                user: value,
            })
        }
        "group" => {
            let mut names = qualifier
                .strip_prefix('/')
                .unwrap_or_default()
                .split('/')
                .filter(|name| !name.is_empty());
            Some(Rule::Group {
                class: names.next().unwrap_or("groupOfNames"),
                attribute: names.next().unwrap_or("member"),
                group: value,
            })
        }
        _ => None,
    }
}

fn by_name<'a>(style: &str, value: &'a str) -> Option<Rule<'a>> {
    let scope = match style.to_ascii_lowercase().as_str() {
        ".regex" if value != "*" => return Some(Rule::Regex(value)),
        "" | ".exact" | ".base" | ".regex" => NameScope::Base,
        ".onelevel" | ".one" => NameScope::OneLevel,
        ".subtree" | ".sub" => NameScope::Subtree,
        ".children" => NameScope::Children,
        _ => return None,
    };
    Some(if value == "*" {
        Rule::Anybody
    } else {
        Rule::Name(scope, value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (text, read) in [
            ("dn:*", "Some(Anybody)"),
            ("dn.regex:*", "Some(Anybody)"),
            ("uid=ann,dc=x", "Some(Name(Base, \"uid=ann,dc=x\"))"),
            ("uid=a:b,dc=x", "Some(Name(Base, \"uid=a:b,dc=x\"))"),
            ("{1}dn.exact:  uid=ann", "Some(Name(Base, \"uid=ann\"))"),
            ("DN.children:dc=x", "Some(Name(Children, \"dc=x\"))"),
            ("dn.onelevel:dc=x", "Some(Name(OneLevel, \"dc=x\"))"),
            ("dn.subtree:dc=x", "Some(Name(Subtree, \"dc=x\"))"),
            ("dn.regex:^uid=.*", "Some(Regex(\"^uid=.*\"))"),
            (
                "u:ann",
                "Some(User { mechanism: \"authz\", realm: None, user: \"ann\" })",
            ),
            (
                "u.plain/X:a:b",
                "Some(User { mechanism: \"plain\", realm: Some(\"X\"), user: \"a:b\" })",
            ),
            (
                "group:cn=g",
                "Some(Group { class: \"groupOfNames\", attribute: \"member\", group: \"cn=g\" })",
            ),
            (
                "group/a/b:cn=g",
                "Some(Group { class: \"a\", attribute: \"b\", group: \"cn=g\" })",
            ),
            ("ldap:///dc=x??sub?(a=b)", "Some(Url(\"ldap:///dc=x??sub?(a=b)\"))"),
            ("dn.nonsense:dc=x", "None"),
            ("u/x:ann", "None"),
            ("{1", "None"),
        ] {
            assert_eq!(format!("{:?}", parse(text)), read, "{text}");
        }
    }
}
