//! From names to DNs: `uid=<user>[,cn=<realm>][,cn=<mechanism>],cn=auth`, then `authz-regexp`.

use std::fmt::Write as _;

use ironbark_model::{Dn, Schema};

use super::{Asking, find};
use crate::OperationError;

/// The name of a user, in lower case, as `authz-regexp` sees it; `None` if it cannot be part of a DN.
pub(crate) fn dn_of_user(schema: &Schema, user: &str, realm: Option<&str>, mechanism: Option<&str>) -> Option<Dn> {
    let mut text = String::from("uid=");
    push_value(&mut text, user);
    for part in [realm.filter(|realm| !realm.is_empty()), mechanism]
        .into_iter()
        .flatten()
    {
        text.push_str(",cn=");
        push_value(&mut text, part);
    }
    text.push_str(",cn=auth");
    normal(schema, text.as_bytes())
}

/// slapd keeps only the normal form of such names.
pub(crate) fn normal(schema: &Schema, text: &[u8]) -> Option<Dn> {
    let dn = Dn::parse(schema, text).ok()?;
    Dn::parse(schema, dn.normalized()).ok()
}

fn push_value(text: &mut String, value: &str) {
    for character in value.chars() {
        match u8::try_from(character) {
            Ok(octet) if octet.is_ascii() && !octet.is_ascii_alphanumeric() => push_hex(text, "\\", u32::from(octet)),
            _ => text.push(character),
        }
    }
}

/// An authorization identity: `dn:<name>`, `u:<user>`, `anonymous` (the empty name); `None` if it is none of these.
///
/// # Errors
/// The storage failed.
pub(crate) fn dn_of_authorization(
    asking: Asking<'_>,
    text: &str,
    realm: Option<&str>,
    mechanism: Option<&str>,
) -> Result<Option<Dn>, OperationError> {
    let schema = &asking.configuration.schema;
    if text.eq_ignore_ascii_case("anonymous") {
        return Ok(Some(Dn::root()));
    }
    let after = |prefix: &str| {
        let has_prefix = text
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        text.get(prefix.len()..).filter(|_| has_prefix)
    };
    let dn = match (after("u:"), after("dn:")) {
        (Some(user), _) => dn_of_user(schema, user, realm, mechanism),
        (None, Some(name)) => normal(schema, name.as_bytes()),
        (None, None) => None,
    };
    dn.map(|dn| mapped(asking, dn)).transpose()
}

/// The name that `authz-regexp` maps a name to; the name itself if there is no mapping.
///
/// # Errors
/// The storage failed.
pub(crate) fn mapped(asking: Asking<'_>, dn: Dn) -> Result<Dn, OperationError> {
    let found = mapped_text(asking, dn.normalized())?;
    Ok(found.unwrap_or(dn))
}

/// The name that `authz-regexp` maps a text to, which need not be a name; `None` if there is no mapping.
///
/// # Errors
/// The storage failed.
pub(crate) fn mapped_text(asking: Asking<'_>, name: &[u8]) -> Result<Option<Dn>, OperationError> {
    let schema = &asking.configuration.schema;
    for row in &asking.configuration.settings.sasl.authz_regexps {
        let Some(spans) = row.pattern.find(name) else {
            continue;
        };
        let is_url = find::is_url(&row.replacement);
        return match filled(&row.replacement, name, &spans, is_url) {
            Some(text) if is_url => find::the_one(asking, &text),
            Some(text) => Ok(normal(schema, without_prefix(&text).as_bytes())),
            None => Ok(None),
        };
    }
    Ok(None)
}

/// A replacement may mark a name with a prefix.
fn without_prefix(text: &str) -> &str {
    ["dn:", "dn.exact:"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text)
}

/// The replacement with submatches instead of `$0` to `$9`. Within a URL they are encoded, and in its filter they are
/// escaped, so that a user's name cannot become a part of the filter.
fn filled(template: &str, name: &[u8], spans: &[Option<(usize, usize)>], is_url: bool) -> Option<String> {
    let mut text = String::with_capacity(template.len() + name.len());
    let (mut parts, mut characters) = (0, template.chars().peekable());
    while let Some(character) = characters.next() {
        if character == '?' {
            parts += 1;
        }
        let number = characters
            .peek()
            .and_then(|next| next.to_digit(10))
            .filter(|_| character == '$');
        let Some(number) = number else {
            text.push(character);
            continue;
        };
        characters.next();
        let span = spans.get(usize::try_from(number).ok()?).copied().flatten();
        let submatch =
            std::str::from_utf8(span.map_or(&[][..], |(start, end)| name.get(start..end).unwrap_or_default())).ok()?;
        match (is_url, parts >= FILTER_PART) {
            (false, _) => text.push_str(submatch),
            (true, false) => push_encoded(&mut text, submatch),
            (true, true) => push_encoded(&mut text, &in_filter(submatch)),
        }
    }
    Some(text)
}

fn push_hex(text: &mut String, prefix: &str, octet: u32) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{prefix}{octet:02x}");
}

/// The filter of a URL follows its third question mark.
const FILTER_PART: usize = 3;

fn push_encoded(text: &mut String, part: &str) {
    for character in part.chars() {
        match character {
            '%' | '?' | ' ' | '<' | '>' => push_hex(text, "%", u32::from(character)),
            other => text.push(other),
        }
    }
}

/// A submatch of a DN, escaped for a filter. The escapes of DNs are those of filters, except for a backslash before the
/// character itself.
fn in_filter(submatch: &str) -> String {
    let mut text = String::with_capacity(submatch.len());
    let mut rest = submatch;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '\\' if rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2 => text.push('\\'),
            '\\' if !rest.is_empty() => {}
            '\\' | '*' | '(' | ')' | '\0' => push_hex(&mut text, "\\", u32::from(character)),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use ironbark_model::PosixRegex;

    use super::*;

    fn replaced(pattern: &str, replacement: &str, name: &str) -> Option<String> {
        let spans = PosixRegex::new(pattern).unwrap().find(name.as_bytes())?;
        filled(replacement, name.as_bytes(), &spans, find::is_url(replacement))
    }

    #[test]
    fn submatches_take_their_places() {
        let pattern = "^uid=([^,]+)(,cn=[^,]+)?,cn=plain,cn=auth$";
        let name = "uid=ann,cn=plain,cn=auth";
        assert_eq!(replaced(pattern, "uid=$1,dc=x$2$9", name).unwrap(), "uid=ann,dc=x");
        assert_eq!(
            replaced(pattern, "cost=5$,$0", name).unwrap(),
            format!("cost=5$,{name}")
        );
        assert_eq!(replaced(pattern, "uid=$1", "uid=ann,cn=login,cn=auth"), None);
    }

    #[test]
    fn a_name_cannot_become_a_part_of_a_question() {
        let ask = |user: &str| {
            let name = format!("uid={user},cn=auth");
            replaced("^uid=(.*),cn=auth$", "ldap:///ou=$1,dc=x??sub?(uid=$1)", &name).unwrap()
        };
        assert_eq!(ask("ann"), "ldap:///ou=ann,dc=x??sub?(uid=ann)");
        assert_eq!(ask("a*"), "ldap:///ou=a*,dc=x??sub?(uid=a\\2a)");
        assert_eq!(ask("a)(cn=*"), "ldap:///ou=a)(cn=*,dc=x??sub?(uid=a\\29\\28cn=\\2a)");
        assert_eq!(ask("a?b%41"), "ldap:///ou=a%3fb%2541,dc=x??sub?(uid=a%3fb%2541)");
        assert_eq!(ask("a\\2Cb\\+"), "ldap:///ou=a\\2Cb\\+,dc=x??sub?(uid=a\\2Cb+)");
    }
}
