//! The `<who>` field.

use super::{
    Who,
    parse::{Styled, Trivial, not_built},
};
use crate::{setting::Statement, value::parse_dn};

/// Forms of slapd.access(5) that are not built.
const MISSING: &[&str] = &[
    "realanonymous",
    "realusers",
    "realself",
    "realdn",
    "realdnattr",
    "peername",
    "sockname",
    "sockurl",
    "domain",
    "set",
    "ssf",
    "transport_ssf",
    "tls_ssf",
    "sasl_ssf",
    "aci",
    "dynacl",
];

/// One condition; `None` when the word is no `<who>`.
pub(super) fn parse(statement: &Statement<'_>, word: &str) -> Result<Option<Who>, String> {
    if word == "*" {
        return Ok(Some(Who::Anyone));
    }
    let styled = Styled::cut(word);
    let key = styled.key.split('/').next().unwrap_or_default();
    if MISSING.contains(&key) {
        return Err(not_built(word));
    }
    let plain = styled.value.is_none();
    let who = match key {
        "anonymous" if plain => styled.expect_style(&[]).map(|()| Who::Anonymous)?,
        "users" if plain => styled.expect_style(&[]).map(|()| Who::Users)?,
        // `self=w` is an access field.
        "self" if plain => styled.expect_style(&[]).map(|()| Who::SelfEntry)?,
        "dn" if styled.style.as_deref() == Some("regex") => match styled.trivial_regex() {
            Some(Trivial::Nothing) => Who::Anonymous,
            Some(Trivial::Star | Trivial::Something) => Who::Users,
            Some(Trivial::Anything) => Who::Anyone,
            None => return Err(not_built(word)),
        },
        "dn" if styled.value == Some("") => return Err(format!("missing value after \"{word}\" in by clause")),
        "dn" => Who::Dn(styled.name_match(statement)?),
        "dnattr" => dn_attribute(statement, &styled)?,
        "group" => group(statement, &styled)?,
        _ => return Ok(None),
    };
    Ok(Some(who))
}

fn dn_attribute(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Who, String> {
    let name = styled.value.unwrap_or_default();
    let description = statement
        .schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("dnattr \"{name}\": {error}"))?;
    Ok(Who::DnAttribute(description))
}

fn group(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Who, String> {
    styled.expect_style(&["exact", "base"])?;
    let schema = statement.schema;
    let mut parts = styled.key.split('/').skip(1);
    let class = parts.next().unwrap_or("groupOfNames");
    let attribute = parts.next().unwrap_or("member");
    let value = styled
        .value
        .ok_or_else(|| format!("missing \"=\" in \"{}\"", styled.word))?;
    Ok(Who::Group {
        class: schema
            .find_object_class(class.as_bytes())
            .ok_or_else(|| format!("group objectclass \"{class}\" unknown"))?
            .number,
        attribute: schema
            .attribute_description(attribute.as_bytes())
            .map_err(|error| format!("group \"{attribute}\": {error}"))?,
        dn: parse_dn(statement, value)?,
    })
}
