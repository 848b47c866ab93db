//! The `<what>` field.

use ironbark_model::{Dn, Schema, schema::ClassNumber};

use super::{
    AttributeTarget, DnPattern, NameMatch, NameScope, OperationPattern, ValuePattern, What,
    template::{regex, without_blanks},
    words::{Styled, Words},
};
use crate::{Operations, SettingError, statement::Statement, value::parse_dn};

/// How deep the filter of a rule may nest.
const MAXIMUM_FILTER_DEPTH: usize = 100;

/// Old files often have regular expressions that match everything.
const ANY_NAME: [&str; 7] = ["*", ".*", ".*$", "^.*", "^.*$", ".*$$", "^.*$$"];

/// Reads the field.
pub(super) fn parse(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<What, SettingError> {
    let mut what = What::default();
    let (mut is_any, mut seen) = (false, false);
    while let Some(word) = words.next_in_clause() {
        seen = true;
        let duplicate = || {
            let qualifier = word.split(['=', '.']).next().unwrap_or_default();
            SettingError::Wrong(format!("only one {qualifier} qualifier can be specified"))
        };
        let styled = Styled::cut(word)?;
        match styled.key.as_str() {
            "*" if word == "*" && what.dn.is_none() && !is_any => is_any = true,
            "*" if word == "*" => return Err("dn pattern already specified in to clause".into()),
            "dn" if what.dn.is_some() || is_any => return Err("dn pattern already specified in to clause".into()),
            "dn" => {
                what.dn = name(statement, &styled)?;
                is_any = what.dn.is_none();
            }
            "filter" if what.filter.is_some() => return Err(duplicate()),
            "filter" => what.filter = Some(filter(&styled)?),
            "attrs" | "attr" if !what.attributes.is_empty() => return Err(duplicate()),
            "attrs" | "attr" => {
                if styled.key == "attr" {
                    statement.notice_old("\"attr\" is an old name of \"attrs\"");
                }
                // An option of an attribute may hold a period, so the word is split only at the equals sign.
                let list = word.split_once('=').map(|(_, list)| list);
                what.attributes = attributes(statement, list.unwrap_or_default())?;
            }
            "op" if what.operation.is_some() => return Err(duplicate()),
            "op" => what.operation = Some(operation(statement.schema, &styled)?),
            "control" if what.control.is_some() => return Err(duplicate()),
            "control" => {
                let text = styled.some_value()?;
                let oid = oid(statement.schema, text);
                let oid = oid.ok_or_else(|| format!("bad control OID \"{text}\" in to clause"))?;
                what.control = Some((text.to_owned(), oid));
            }
            key if key.starts_with("val") && what.value.is_some() => {
                return Err("attr val already specified in to clause".into());
            }
            key if key.starts_with("val") => what.value = Some(value(statement, &styled, &what)?),
            _ => return Err(format!("expecting <what> got \"{word}\"").into()),
        }
    }
    if seen {
        Ok(what)
    } else {
        Err("expecting <what> after \"to\"".into())
    }
}

/// `dn...=`; `None` for every name.
fn name(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Option<DnPattern>, SettingError> {
    let value = styled.value.ok_or_else(|| styled.missing())?;
    match styled.style.as_deref() {
        Some("regex") if value.is_empty() => Ok(Some(DnPattern::Name(NameMatch {
            scope: NameScope::Base,
            dn: Dn::root(),
        }))),
        Some("regex") if ANY_NAME.contains(&value) => Ok(None),
        Some("regex") => Ok(Some(DnPattern::Regex(regex(&without_blanks(value), value)?))),
        None if value == "*" => Ok(None),
        Some("subtree" | "sub") if value.is_empty() => Ok(None),
        _ => {
            let matched = styled.name_match(statement)?;
            if let NameScope::Level(_) = matched.scope {
                return Err("unknown dn style \"level\" in to clause".into());
            }
            Ok(Some(DnPattern::Name(matched)))
        }
    }
}

fn filter(styled: &Styled<'_>) -> Result<String, SettingError> {
    let text = styled.value.unwrap_or_default();
    ironbark_model::Filter::parse(text.as_bytes(), MAXIMUM_FILTER_DEPTH)
        .map_err(|_| format!("bad filter \"{text}\" in to clause"))?;
    Ok(text.to_owned())
}

fn attributes(statement: &Statement<'_>, list: &str) -> Result<Vec<AttributeTarget>, SettingError> {
    let unknown = |name: &str| SettingError::Wrong(format!("unknown attr \"{name}\" in to clause"));
    if list.split(',').all(str::is_empty) {
        return Err(unknown(list));
    }
    // slapd passes over commas that separate nothing.
    list.split(',')
        .filter(|name| !name.is_empty())
        .map(|name| attribute(statement, name).ok_or_else(|| unknown(name)))
        .collect()
}

fn attribute(statement: &Statement<'_>, name: &str) -> Option<AttributeTarget> {
    let schema = statement.schema;
    let class = |name: &str| -> Option<ClassNumber> { Some(schema.find_object_class(name.as_bytes())?.number) };
    if let Some(name) = name.strip_prefix('@') {
        return class(name).map(AttributeTarget::Class);
    }
    if let Some(name) = name.strip_prefix('!') {
        return class(name).map(AttributeTarget::NotClass);
    }
    if name.eq_ignore_ascii_case("entry") {
        return Some(AttributeTarget::Entry);
    }
    if name.eq_ignore_ascii_case("children") {
        return Some(AttributeTarget::Children);
    }
    // slapd also accepts the name of a class without its mark.
    let attribute = schema
        .attribute_description(name.as_bytes())
        .ok()
        .map(AttributeTarget::Attribute);
    attribute.or_else(|| class(name).map(AttributeTarget::Class))
}

/// `val[/rule][.style]=`.
fn value(statement: &Statement<'_>, styled: &Styled<'_>, what: &What) -> Result<ValuePattern, SettingError> {
    let schema = statement.schema;
    let [AttributeTarget::Attribute(description)] = &what.attributes[..] else {
        return Err("attr val requires a single attribute".into());
    };
    let text = styled.value.ok_or_else(|| styled.missing())?;
    let held = schema.attribute_type(description.attribute_type);
    let is_name = held.syntax.oid == ironbark_model::syntax::oid::DN;
    let rule = styled.key.split_once('/').map(|(_, rule)| rule.to_owned());
    let style = styled.style.as_deref().unwrap_or("exact");
    match style {
        "regex" => return Ok(ValuePattern::Regex(regex(text, text)?)),
        "exact" | "base" | "" if !is_name => {}
        _ if is_name => {
            let scope = NameScope::style(style).ok_or_else(|| {
                format!(
                    "unknown val.<style> \"{style}\" for attributeType \"{}\" with DN syntax",
                    held.name()
                )
            })?;
            let dn = parse_dn(statement, text)?;
            return Ok(ValuePattern::Name(NameMatch { scope, dn }));
        }
        _ => {
            return Err(format!("unknown val.<style> \"{style}\" for attributeType \"{}\"", held.name()).into());
        }
    }
    let matching = match &rule {
        None => held
            .equality
            .ok_or_else(|| format!("attr \"{}\" does not have an EQUALITY matching rule", held.name()))?,
        Some(name) => {
            let known = ironbark_model::matching::find(name.as_bytes());
            known.ok_or_else(|| format!("invalid matching rule \"{name}\""))?
        }
    };
    matching
        .assertion(schema, text.as_bytes(), &mut Vec::new())
        .map_err(|_| format!("attr \"{}\" normalization failed", held.name()))?;
    Ok(ValuePattern::Exact {
        rule,
        value: text.to_owned(),
    })
}

fn operation(schema: &Schema, styled: &Styled<'_>) -> Result<OperationPattern, SettingError> {
    let text = styled.some_value()?;
    if let Some(operations) = Operations::word(text).filter(|_| !text.eq_ignore_ascii_case("all")) {
        return Ok(OperationPattern {
            text: text.to_owned(),
            operations,
            extended: None,
        });
    }
    let oid = oid(schema, text).ok_or_else(|| format!("unsupported operation type \"{text}\" in to clause"))?;
    Ok(OperationPattern {
        text: text.to_owned(),
        operations: Operations::EXTENDED,
        extended: Some(oid),
    })
}

/// A numeric OID, or what an `objectidentifier` macro stands for.
pub(super) fn oid(schema: &Schema, text: &str) -> Option<String> {
    let is_numeric = text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_numeric {
        return Some(text.to_owned());
    }
    schema.expand_oid_macro(text)
}
