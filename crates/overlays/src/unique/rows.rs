//! Settings of slapo-unique(5).

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay_handler,
    value::{Value as _, bool_text, parse_bool, parse_dn},
};
use ironbark_model::{
    CompiledFilter, Filter, Schema, Truth,
    filter::{FilterNode, MAX_DEPTH},
    ldap_url::{LdapUrl, UrlScope},
};

use super::settings::{Legacy, UniqueConfig, UniqueDomain, UniqueUri};

const UNIQUE: SettingLevel = SettingLevel::Overlay("unique");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(UNIQUE, &["unique_base"], &["olcUniqueBase"])
        .olc("3.10.1", Form::Name)
        .takes("<dn>", "")
        .does(
            "Names the subtree in which values are unique. This is an old form: use unique_uri, which cannot stand \
             beside it.",
        )
        .since("2.2")
        .like(&["ou=people,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            UniqueConfig,
            |settings, statement| {
                legacy(settings)?.base = Option::parse(statement)?;
                Ok(())
            },
            |settings, _| settings.legacy.base.text(),
        )),
    Setting::new(UNIQUE, &["unique_ignore"], &["olcUniqueIgnore"])
        .olc("3.10.2", Form::Attributes)
        .takes("<attribute>...", "")
        .does(
            "Names the attributes whose values need not be unique, while those of all others must be. This is an old \
             form: use unique_uri.",
        )
        .since("2.2")
        .like(&["objectClass", "objectClass ou"])
        .obeyed(overlay_handler!(
            UniqueConfig,
            |settings, statement| add_attributes(settings, statement, true),
            |settings, _| attributes(settings, true),
        )),
    Setting::new(UNIQUE, &["unique_attributes"], &["olcUniqueAttribute"])
        .olc("3.10.3", Form::Attributes)
        .takes("<attribute>...", "")
        .does("Names the attributes whose values are unique. This is an old form: use unique_uri.")
        .since("2.2")
        .like(&["mail", "mail sn"])
        .obeyed(overlay_handler!(
            UniqueConfig,
            |settings, statement| add_attributes(settings, statement, false),
            |settings, _| attributes(settings, false),
        )),
    Setting::new(UNIQUE, &["unique_strict"], &["olcUniqueStrict"])
        .olc("3.10.4", Form::Boolean)
        .takes("on|off", "")
        .does("Has the meaning of the keyword strict of unique_uri, for the old forms.")
        .since("2.2")
        .like(&["TRUE"])
        .obeyed(overlay_handler!(
            UniqueConfig,
            |settings, statement| {
                let word = statement.one()?;
                let strict = parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\": on or off expected"))?;
                legacy(settings)?.strict = Some(strict);
                Ok(())
            },
            |settings, _| settings.legacy.strict.into_iter().map(bool_text).collect(),
        )),
    Setting::new(UNIQUE, &["unique_uri"], &["olcUniqueURI"])
        .olc("3.10.5", Form::Uris)
        .takes("[strict ][ignore ][serialize ]<URI>[ <URI>...]", "")
        .does(
            "Sets a domain of uniqueness: `ldap:///[base]?[attributes]?sub|one[?filter]`. A new value of one of the \
             attributes is refused with constraintViolation if another entry of the domain has it: an entry below the \
             base, in the scope, that matches the filter. If no attribute is named, all user attributes count; with \
             ignore, all except the named ones. An entry outside the base, or one that the filter does not match, is \
             not checked. An entry that comes to be below the base, or to match the filter, is checked as a whole; \
             slapd checks the values that the request names. With strict, a request that replaces an attribute by \
             nothing is refused while another entry has the attribute, as in slapd. Writes happen one after the other \
             here, so serialize is always in force. Give each attribute an eq index: without one, all entries are \
             read. The relax rules control, with manage access to the entry, allows any value.",
        )
        .since("2.4")
        .like(&[
            "strict ldap:///?mail?sub",
            "ldap:///ou=people,dc=example,dc=com?cn,sn?one?(objectClass=person)",
            "ignore ldap:///?objectClass?sub",
        ])
        .verbatim()
        .obeyed(overlay_handler!(UniqueConfig, add_domain, |settings, _| {
            settings.domains.iter().map(|domain| domain.text.clone()).collect()
        })),
];

/// The old settings, to be changed.
fn legacy(settings: &mut UniqueConfig) -> Result<&mut Legacy, SettingError> {
    if settings.domains.is_empty() {
        Ok(&mut settings.legacy)
    } else {
        Err("cannot set legacy attrs when URIs are present".into())
    }
}

fn add_attributes(settings: &mut UniqueConfig, statement: &Statement<'_>, ignore: bool) -> Result<(), SettingError> {
    let words = statement.some()?;
    let legacy = legacy(settings)?;
    if !legacy.attributes.is_empty() && legacy.ignore != ignore {
        return Err("cannot set both attrs and ignore-attrs".into());
    }
    for word in words {
        let name = attribute(statement.schema, word)?;
        if !legacy.attributes.contains(&name) {
            legacy.attributes.push(name);
        }
    }
    legacy.ignore = ignore;
    Ok(())
}

fn attributes(settings: &UniqueConfig, ignore: bool) -> Vec<String> {
    if settings.legacy.ignore == ignore {
        settings.legacy.attributes.clone()
    } else {
        Vec::new()
    }
}

fn attribute(schema: &Schema, name: &str) -> Result<String, SettingError> {
    let description = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("unique: attribute: {name}: {error}"))?;
    Ok(schema.description_text(&description))
}

fn add_domain(settings: &mut UniqueConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.some()?.join(" ");
    if settings.legacy.is_set() {
        return Err("cannot set Uri when legacy attrs are present".into());
    }
    settings.domains.push(read_domain(statement, text)?);
    Ok(())
}

fn read_domain(statement: &Statement<'_>, text: String) -> Result<UniqueDomain, SettingError> {
    let (mut ignore, mut strict) = (false, false);
    let mut rest = text.trim_start();
    while let Some((word, after)) = rest.split_once(' ') {
        match word.to_ascii_lowercase().as_str() {
            "ignore" => ignore = true,
            "strict" => strict = true,
            "serialize" => {}
            _ => break,
        }
        rest = after.trim_start();
    }
    let list = LdapUrl::parse_list(rest).ok().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| format!("<{rest}> invalid ldap urilist"))?;
    let uris = list
        .into_iter()
        .map(|url| read_uri(statement, url))
        .collect::<Result<_, _>>()?;
    Ok(UniqueDomain {
        text,
        ignore,
        strict,
        uris,
    })
}

fn read_uri(statement: &Statement<'_>, url: LdapUrl) -> Result<UniqueUri, SettingError> {
    if !url.host.is_empty() {
        return Err(format!("host <{}> not allowed in URI", url.host).into());
    }
    let base = match url.dn.as_str() {
        "" => None,
        text => Some(parse_dn(statement, text).map_err(|_| format!("<{text}> invalid DN 34 (Invalid DN syntax)"))?),
    };
    let attributes = url.attributes.iter().map(|name| attribute(statement.schema, name));
    let attributes = attributes.collect::<Result<_, _>>()?;
    let scope = url.scope.unwrap_or(UrlScope::Base);
    if scope == UrlScope::Base {
        return Err("unique: uri with base scope will always be unique".into());
    }
    if let Some(text) = &url.filter {
        let filter = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| "unique: bad filter".to_owned())?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(statement.schema, &filter);
        if compiled
            .nodes
            .iter()
            .any(|node| matches!(node, FilterNode::Constant(Truth::Undefined)))
        {
            statement.notice(format!(
                "filter {text}: some part of it is unknown and matches no entry"
            ));
        }
    }
    Ok(UniqueUri {
        base,
        attributes,
        scope,
        filter: url.filter,
    })
}
