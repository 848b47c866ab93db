//! The `<who>` field.

use ironbark_model::{
    Schema,
    schema::{ClassNumber, ObjectClass},
    syntax,
};

use super::{
    GroupName, NameCondition, NameMatch, NameScope, PeerPattern, RegexTemplate, StrengthFactor, Template, TextPattern,
    Who, template::without_blanks, words::Styled,
};
use crate::{
    SettingError,
    statement::Statement,
    value::{parse_dn, parse_u32},
};

/// One condition; `None` when the word is no `<who>`.
pub(super) fn parse(statement: &Statement<'_>, word: &str) -> Result<Option<Who>, SettingError> {
    let styled = Styled::cut(word)?;
    let (is_real, key) = match styled.key.strip_prefix("real") {
        Some(rest) => (true, rest),
        None => (false, styled.key.as_str()),
    };
    if let Some(is) = name_condition(statement, &styled, key)? {
        return Ok(Some(Who::Name { is_real, is }));
    }
    if key == "dnattr" {
        return dn_attribute(statement, &styled, is_real).map(Some);
    }
    if is_real {
        return Ok(None);
    }
    let kind = key.split('/').next().unwrap_or_default();
    let who = match kind {
        "group" => group(statement, &styled)?,
        "peername" => Who::Peer(PeerPattern::parse(statement, &styled)?),
        "sockname" => Who::SocketName(TextPattern::parse(&styled)?),
        "sockurl" => Who::SocketUrl(TextPattern::parse(&styled)?),
        "domain" => domain(statement, &styled)?,
        "set" => set(statement, &styled)?,
        "aci" | "dynacl" => {
            return Err(SettingError::MissingPart(format!(
                "\"{word}\", slapd's experiment with dynamic access rules,"
            )));
        }
        _ => match StrengthFactor::WORDS.iter().find(|(word, _)| *word == kind) {
            Some((word, factor)) => strength(&styled, word, *factor)?,
            None => return Ok(None),
        },
    };
    Ok(Some(who))
}

/// `*`, `anonymous`, `users`, `self`, `dn`.
fn name_condition(
    statement: &Statement<'_>,
    styled: &Styled<'_>,
    key: &str,
) -> Result<Option<NameCondition>, SettingError> {
    Ok(Some(match key {
        "*" if styled.word == "*" => NameCondition::Anyone,
        "anonymous" => styled.expect_style(&[]).map(|()| NameCondition::Anonymous)?,
        "users" => styled.expect_style(&[]).map(|()| NameCondition::Users)?,
        // As in slapd, `self=w` means this word, not an access field.
        "self" => {
            styled.expect_style(&["level"])?;
            NameCondition::SelfEntry(styled.level.unwrap_or_default())
        }
        "dn" if styled.style.as_deref() == Some("regex") => regex_condition(styled)?,
        "dn" if styled.style.as_deref() == Some("expand") => literal_subtree(statement, styled)?,
        "dn" => {
            let value = styled.some_value()?;
            if styled.expands {
                let template = Template::parse(value);
                if template.fixed().is_some() {
                    return Err("\"expand\" used with no expansions in \"pattern\"".into());
                }
                return Ok(Some(NameCondition::Expanded(styled.scope()?, template)));
            }
            let matched = styled.name_match(statement)?;
            match matched.scope {
                NameScope::Level(0) => statement.notice("\"base\" says the same as \"level{0}\""),
                NameScope::Level(1) => statement.notice("\"onelevel\" says the same as \"level{1}\""),
                _ => {}
            }
            NameCondition::Dn(matched)
        }
        _ => return Ok(None),
    }))
}

/// `dn.expand`: slapd knows the style from other conditions, and compares the end of the name. Nothing is expanded.
fn literal_subtree(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<NameCondition, SettingError> {
    let dn = parse_dn(statement, styled.some_value()?)?;
    statement.notice(
        "\"dn.expand\" expands nothing, in slapd neither: it is \"dn.subtree\" with the name as it is written; \
         \"dn.exact,expand\" replaces $1",
    );
    Ok(NameCondition::Dn(NameMatch {
        scope: NameScope::Subtree,
        dn,
    }))
}

/// Old files often have regular expressions that match everything or almost nothing.
fn regex_condition(styled: &Styled<'_>) -> Result<NameCondition, SettingError> {
    if styled.expands {
        return Err("\"regex\" style implies \"expand\" modifier".into());
    }
    let Some(pattern) = styled.value else {
        return Ok(NameCondition::Users);
    };
    let start = pattern.strip_prefix('^').unwrap_or(pattern);
    let middle = start.strip_suffix("$$").or(start.strip_suffix('$')).unwrap_or(start);
    Ok(match (pattern, middle) {
        ("", _) => NameCondition::Anonymous,
        ("*", _) | (_, ".+") => NameCondition::Users,
        (_, ".*") => NameCondition::Anyone,
        _ => NameCondition::Regex(RegexTemplate::parse(pattern)?),
    })
}

/// Whether values of an attribute are names, with or without a UID.
fn holds_names(schema: &Schema, attribute: &ironbark_model::AttributeDescription) -> bool {
    let held = schema.attribute_type(attribute.attribute_type);
    [syntax::oid::DN, syntax::oid::NAME_AND_OPTIONAL_UID].contains(&held.syntax.oid)
}

fn dn_attribute(statement: &Statement<'_>, styled: &Styled<'_>, is_real: bool) -> Result<Who, SettingError> {
    let name = styled.some_value()?;
    let schema = statement.schema;
    let attribute = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("dnattr \"{name}\": {error}"))?;
    let held = schema.attribute_type(attribute.attribute_type);
    if !holds_names(schema, &attribute) {
        return Err(format!("dnattr \"{name}\": inappropriate syntax: {}", held.syntax.oid).into());
    }
    if held.equality.is_none() {
        return Err(format!("dnattr \"{name}\": inappropriate matching (no EQUALITY)").into());
    }
    Ok(Who::DnAttribute { is_real, attribute })
}

fn group(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Who, SettingError> {
    let is_expanded = match styled.style.as_deref() {
        Some("regex") => {
            statement.notice_old("\"regex\" is an old name of the group style \"expand\"");
            true
        }
        Some("expand") => true,
        None | Some("" | "exact" | "base" | "baseobject") => false,
        Some(_) => return Err(styled.inappropriate()),
    };
    let schema = statement.schema;
    let mut parts = styled.key.split('/').skip(1).filter(|part| !part.is_empty());
    let class = parts.next().unwrap_or("groupOfNames");
    let name = parts.next().unwrap_or("member");
    let value = styled.some_value()?;
    let group_class = schema
        .find_object_class(class.as_bytes())
        .ok_or_else(|| format!("group objectclass \"{class}\" unknown"))?;
    for kind in ["referral", "alias"] {
        let known = schema.find_object_class(kind.as_bytes());
        if known.is_some_and(|known| schema.is_subclass(group_class.number, known.number)) {
            return Err(format!("group objectclass \"{class}\" is subclass of {kind}").into());
        }
    }
    let attribute = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("group \"{value}\": {error}"))?;
    let url = schema.find_attribute_type(b"labeledURI");
    let holds_urls = url.is_some_and(|url| schema.is_subtype(attribute.attribute_type, url.number));
    if !holds_names(schema, &attribute) && !holds_urls {
        let held = schema.attribute_type(attribute.attribute_type).syntax.oid;
        return Err(format!(
            "group \"{value}\" attr \"{name}\": inappropriate syntax: {held}; must be {} (DN), {} (NameUID) or a subtype of labeledURI",
            syntax::oid::DN,
            syntax::oid::NAME_AND_OPTIONAL_UID
        ).into());
    }
    if !allows(schema, group_class, &attribute) {
        return Err(format!("group: \"{name}\" not allowed by \"{}\"", group_class.oid).into());
    }
    Ok(Who::Group {
        class: group_class.number,
        attribute,
        group: if is_expanded {
            GroupName::Expanded(Template::parse(&without_blanks(value)))
        } else {
            GroupName::Exact(parse_dn(statement, value)?)
        },
    })
}

/// Whether the class, or any class, allows an attribute.
fn allows(schema: &Schema, class: &ObjectClass, attribute: &ironbark_model::AttributeDescription) -> bool {
    let held = schema.attribute_type(attribute.attribute_type);
    let is_extensible = |number: &ClassNumber| {
        schema
            .object_class(*number)
            .name()
            .eq_ignore_ascii_case("extensibleObject")
    };
    held.is_operational()
        || schema.superclasses(class.number).iter().any(is_extensible)
        || schema.required_types(class.number).contains(&attribute.attribute_type)
        || schema.allowed_types(class.number).contains(&attribute.attribute_type)
}

fn domain(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Who, SettingError> {
    let value = styled.some_value()?;
    statement.notice("\"domain\" compares names that \"reverse-lookup\" finds: the owner of an address decides them");
    let is_subtree = matches!(styled.style.as_deref(), Some("subtree" | "sub"));
    let pattern = if value == "*" {
        TextPattern::Anything
    } else if styled.expands || styled.style.as_deref() == Some("expand") {
        TextPattern::Expanded(Template::parse(value))
    } else if is_subtree {
        TextPattern::Exact(value.to_owned())
    } else {
        TextPattern::parse(styled)?
    };
    Ok(Who::Domain { pattern, is_subtree })
}

fn set(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Who, SettingError> {
    let is_expanded = match styled.style.as_deref() {
        Some("regex") => {
            statement.notice_old("\"regex\" is an old name of the set style \"expand\"");
            true
        }
        Some("expand") => true,
        None | Some("" | "exact" | "base" | "baseobject") => false,
        Some(_) => return Err(styled.inappropriate()),
    };
    let value = styled
        .value
        .filter(|value| !value.is_empty())
        .ok_or("no set is defined")?;
    Ok(Who::Set {
        template: Template::parse(value),
        is_expanded,
    })
}

fn strength(styled: &Styled<'_>, word: &str, factor: StrengthFactor) -> Result<Who, SettingError> {
    styled.expect_style(&["regex", "exact", "base", "baseobject", ""])?;
    let value = styled.value.filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| format!("no {word} is defined"))?;
    let least = parse_u32(value).ok_or_else(|| format!("unable to parse {word} value ({value})"))?;
    if least == 0 {
        return Err(format!("invalid {word} value ({value})").into());
    }
    Ok(Who::Strength { factor, least })
}

impl Who {
    /// The kind of the condition, of which a clause has only one: its place in slapd's order, and slapd's word for it.
    pub(super) fn kind(&self) -> (u8, &'static str) {
        match self {
            Self::Name { is_real: false, .. } => (0, "dn pattern"),
            Self::DnAttribute { is_real: false, .. } => (1, "dnattr"),
            Self::Name { is_real: true, .. } => (2, "dn pattern"),
            Self::DnAttribute { is_real: true, .. } => (3, "dnattr"),
            Self::Group { .. } => (4, "group pattern"),
            Self::Peer(_) => (5, "peername pattern"),
            Self::SocketName(_) => (6, "sockname pattern"),
            Self::Domain { .. } => (7, "domain pattern"),
            Self::SocketUrl(_) => (8, "sockurl pattern"),
            Self::Set { .. } => (9, "set attribute"),
            Self::Strength { factor, .. } => match factor {
                StrengthFactor::Any => (10, "ssf attribute"),
                StrengthFactor::Transport => (11, "transport_ssf attribute"),
                StrengthFactor::Tls => (12, "tls_ssf attribute"),
                StrengthFactor::Sasl => (13, "sasl_ssf attribute"),
            },
        }
    }
}
