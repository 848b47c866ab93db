//! Rows of slapo-constraint(5).

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler, value::parse_dn,
};
use ironbark_model::{
    Filter, PosixRegex, Schema,
    filter::MAX_DEPTH,
    ldap_url::{LdapUrl, UrlScope},
};

use super::settings::{Condition, ConstraintConfig, ConstraintSetting, EntryUrl};

const CONSTRAINT: SettingLevel = SettingLevel::Overlay("constraint");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(CONSTRAINT, &["constraint_attribute"], &["olcConstraintAttribute"])
        .olc("3.13.1", Form::Texts)
        .takes(
            "<attribute>[,...] count|size|regex|negregex|uri|neguri|set|negset <value> [restrict=<URI>]",
            "",
        )
        .does(
            "Says what the values of attributes must be like. An add, modify or modify DN that breaks the rule is \
             refused with constraintViolation. `count`: at most this many values in the entry after the change. \
             `size`: at most this many octets in each value. A negative number is no limit. `regex`, `negregex`: each \
             new value matches the expression (POSIX extended, case-sensitive), or does not. `uri`, `neguri`: \
             `ldap:///[base]?attributes?scope[?filter]`; the client finds an entry with the new value in one of the \
             attributes, or finds none. Entries that the client may not search are not found, as in slapd. `set`, \
             `negset`: the set (as in access rules) holds for the entry after the change, or does not. With \
             `restrict`, the rule holds only for entries in the scope of the URI (base by default: the base alone) \
             that match its filter before the change. The relax rules control, with manage access to the attribute, \
             allows any value.",
        )
        .since("2.4")
        .like(&[
            "jpegPhoto size 131072",
            "userPassword,description count 3",
            "mail regex ^[[:alnum:]]+@example.com$",
            "mail negregex ^[[:alnum:]]+@example.org$",
            "title uri ldap:///dc=example,dc=com?title?sub?(objectClass=person)",
            "cn neguri ldap:///dc=example,dc=com?cn,sn?sub \
             restrict=ldap:///dc=example,dc=com??sub?(objectClass=person)",
            "cn,sn,givenName set \"(this/givenName + [ ] + this/sn) & this/cn\"",
            "cn negset \"this/cn & this/sn\"",
        ])
        .obeyed(overlay_handler!(ConstraintConfig, add, |settings, _| {
            settings.constraints.iter().map(ConstraintSetting::text).collect()
        })),
    Setting::new(CONSTRAINT, &["constraint_allowempty"], &["olcConstraintAllowEmpty"])
        .olc("3.13.2", Form::Boolean)
        .takes("on|off", "FALSE")
        .does(
            "Accepts modify requests that change nothing. Without it they are refused with invalidAttributeSyntax, as \
             in slapd.",
        )
        .since("2.6")
        .like(&["TRUE"])
        .obeyed(overlay_field!(ConstraintConfig.allow_empty)),
];

fn add(settings: &mut ConstraintConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [names, kind, value, extras @ ..] = statement.arguments else {
        return Err(format!("missing {} argument", statement.grammar).into());
    };
    let attributes = names.split(',').map(|name| attribute(statement, name));
    let attributes: Vec<String> = attributes.collect::<Result<_, _>>()?;
    let condition = condition(statement, names, kind, value)?;
    let mut restrict = None;
    for extra in extras {
        let text = match extra.split_once('=') {
            Some((word, text)) if word.eq_ignore_ascii_case("restrict") => text,
            _ => return Err(format!("{names}: unrecognized arg <{extra}>").into()),
        };
        let url = entry_url(statement, text)
            .map_err(|reason| format!("{names}: Invalid restrict URI \"{text}\": {reason}"))?;
        if !url.attributes.is_empty() {
            return Err(format!("{names}: attrs not allowed in restrict URI {text}").into());
        }
        restrict = Some(url);
    }
    settings.constraints.push(ConstraintSetting {
        attributes,
        condition,
        restrict,
    });
    Ok(())
}

fn condition(statement: &Statement<'_>, names: &str, kind: &str, value: &str) -> Result<Condition, SettingError> {
    let number = || {
        let most = most(value).ok_or_else(|| format!("{names}: \"{value}\" is no number"))?;
        if value.starts_with('-') && most > 0 {
            statement.notice(format!("\"{value}\" sets no limit: as in slapd it is read as {most}"));
        }
        Ok::<_, SettingError>(most)
    };
    let regex = |negated| match PosixRegex::case_sensitive(value) {
        Ok(regex) => {
            statement.notice_lost_escape(2);
            Ok(Condition::Regex { regex, negated })
        }
        Err(error) => Err(format!("{names}: Illegal regular expression \"{value}\": {error}").into()),
    };
    let uri = |negated| {
        let url =
            entry_url(statement, value).map_err(|reason| format!("{names}: Invalid URI \"{value}\": {reason}"))?;
        if url.attributes.is_empty() {
            return Err(format!("{names}: URI \"{value}\" names no attribute").into());
        }
        Ok(Condition::Uri { url, negated })
    };
    let text = value.to_owned();
    match kind.to_ascii_lowercase().as_str() {
        "count" => Ok(Condition::Count(number()?)),
        "size" => Ok(Condition::Size(number()?)),
        "regex" => regex(false),
        "negregex" => regex(true),
        "uri" => uri(false),
        "neguri" => uri(true),
        "set" => Ok(Condition::Set { text, negated: false }),
        "negset" => Ok(Condition::Set { text, negated: true }),
        _ => Err(format!("{names}: Unknown constraint type: {kind}").into()),
    }
}

/// A number as slapd reads it: a negative one wraps around, and one that is too big is the biggest.
fn most(text: &str) -> Option<u64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().unwrap_or(u64::MAX);
    Some(if is_negative && number < u64::MAX {
        number.wrapping_neg()
    } else {
        number
    })
}

fn entry_url(statement: &Statement<'_>, text: &str) -> Result<EntryUrl, SettingError> {
    let url = LdapUrl::parse(text).map_err(|error| error.to_string())?;
    if !url.host.is_empty() {
        return Err("unsupported hostname".into());
    }
    let base = match url.dn.as_str() {
        "" => None,
        name => Some(parse_dn(statement, name)?),
    };
    let attributes = url.attributes.iter().map(|name| attribute(statement, name));
    if let Some(filter) = &url.filter {
        Filter::parse(filter.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter {filter}"))?;
    }
    Ok(EntryUrl {
        text: text.to_owned(),
        base,
        scope: url.scope.unwrap_or(UrlScope::Base),
        attributes: attributes.collect::<Result<_, _>>()?,
        filter: url.filter.clone(),
    })
}

fn attribute(statement: &Statement<'_>, name: &str) -> Result<String, SettingError> {
    let schema: &Schema = statement.schema;
    let description = schema.attribute_description(name.as_bytes());
    let description = description.map_err(|error| format!("<{name}>: {error}"))?;
    Ok(schema.description_text(&description))
}
