//! Settings of slapo-unique(5).

use ironbark_model::{
    CompiledFilter, Filter, Schema, Truth,
    filter::{MAX_DEPTH, Node},
    ldap_url::{LdapUrl, UrlScope},
};

use crate::{
    overlay::{
        OverlayConfig, OverlayKind, OverlaySettings,
        unique::{Legacy, UniqueConfig, UniqueDomain, UniqueUri},
    },
    setting::{Handler, Level, Setting},
    statement::Statement,
    value::{Value, bool_text, parse_bool, parse_dn},
};

const UNIQUE: Level = Level::Overlay(OverlayKind::Unique);

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(UNIQUE, &["unique_base"], &["olcUniqueBase"])
        .takes("<dn>", "")
        .does("Names the subtree in which values are unique. An old form: see unique_uri, which cannot stand beside it.")
        .since("2.2")
        .like(&["ou=people,dc=example,dc=com"])
        .whole()
        .obeyed(Handler::Overlay {
            set: |config, statement| {
                let base = Value::parse(statement)?;
                legacy(config, |legacy| {
                    legacy.base = base;
                    Ok(())
                })
            },
            get: |config, _| unique(config).map_or_else(Vec::new, |settings| settings.legacy.base.text()),
        }),
    Setting::new(UNIQUE, &["unique_ignore"], &["olcUniqueIgnore"])
        .takes("<attribute>...", "")
        .does("Names the attributes whose values need not be unique, when those of all others are. An old form: see unique_uri.")
        .since("2.2")
        .like(&["objectClass", "objectClass ou"])
        .obeyed(Handler::Overlay {
            set: |config, statement| set_attributes(config, statement, true),
            get: |config, _| attributes(config, true),
        }),
    Setting::new(UNIQUE, &["unique_attributes"], &["olcUniqueAttribute"])
        .takes("<attribute>...", "")
        .does("Names the attributes whose values are unique. An old form: see unique_uri.")
        .since("2.2")
        .like(&["mail", "mail sn"])
        .obeyed(Handler::Overlay {
            set: |config, statement| set_attributes(config, statement, false),
            get: |config, _| attributes(config, false),
        }),
    Setting::new(UNIQUE, &["unique_strict"], &["olcUniqueStrict"])
        .takes("on|off", "")
        .does("Is the keyword strict of unique_uri for the old forms.")
        .since("2.2")
        .like(&["TRUE"])
        .obeyed(Handler::Overlay {
            set: |config, statement| {
                let word = statement.one()?;
                let strict = parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\": on or off expected"))?;
                legacy(config, |legacy| {
                    legacy.strict = Some(strict);
                    Ok(())
                })
            },
            get: |config, _| {
                let strict = unique(config).and_then(|settings| settings.legacy.strict);
                strict.into_iter().map(bool_text).collect()
            },
        }),
    Setting::new(UNIQUE, &["unique_uri"], &["olcUniqueURI"])
        .takes("[strict ][ignore ][serialize ]<URI>[ <URI>...]", "")
        .does(
            "Is a domain of uniqueness: `ldap:///[base]?[attributes]?sub|one[?filter]`. A new value of one of the attributes (of any user \
             attribute when none is named; with ignore, of any but these) is refused with constraintViolation when another entry below \
             the base, in the scope, that the filter matches has it; entries that the filter does not match, or outside of the base, \
             are not looked at. An entry that comes to be below the base, or to match the filter, is looked at as a whole; slapd looks at \
             the values that the request names. With strict, replacing an attribute by nothing is refused while another entry has it, as \
             slapd does. Writes are made one after the other here, so that serialize is always in force. Give each attribute an eq index: \
             without one all entries are read. The relax rules control, with manage access to the entry, lets anything pass.",
        )
        .since("2.4")
        .like(&["strict ldap:///?mail?sub", "ldap:///ou=people,dc=example,dc=com?cn,sn?one?(objectClass=person)", "ignore ldap:///?objectClass?sub"])
        .verbatim()
        .obeyed(Handler::Overlay {
            set: add_domain,
            get: |config, _| {
                let domains = unique(config).map_or(&[][..], |settings| &settings.domains);
                domains.iter().map(|domain| domain.text.clone()).collect()
            },
        }),
];

fn unique(config: &OverlayConfig) -> Option<&UniqueConfig> {
    match &config.settings {
        OverlaySettings::Unique(settings) => Some(settings),
        _ => None,
    }
}

fn change(
    config: &mut OverlayConfig,
    apply: impl FnOnce(&mut UniqueConfig) -> Result<(), String>,
) -> Result<(), String> {
    match &mut config.settings {
        OverlaySettings::Unique(settings) => apply(settings),
        _ => Err("stands in the wrong overlay".to_owned()),
    }
}

fn legacy(config: &mut OverlayConfig, apply: impl FnOnce(&mut Legacy) -> Result<(), String>) -> Result<(), String> {
    change(config, |settings| {
        if settings.domains.is_empty() {
            apply(&mut settings.legacy)
        } else {
            Err("cannot set legacy attrs when URIs are present".to_owned())
        }
    })
}

fn set_attributes(config: &mut OverlayConfig, statement: &Statement<'_>, ignore: bool) -> Result<(), String> {
    let words = statement.some()?;
    legacy(config, |legacy| {
        if !legacy.attributes.is_empty() && legacy.ignore != ignore {
            return Err("cannot set both attrs and ignore-attrs".to_owned());
        }
        for word in words {
            let name = attribute(statement.schema, word)?;
            if !legacy.attributes.contains(&name) {
                legacy.attributes.push(name);
            }
        }
        legacy.ignore = ignore;
        Ok(())
    })
}

fn attributes(config: &OverlayConfig, ignore: bool) -> Vec<String> {
    let legacy = unique(config).map(|settings| &settings.legacy);
    legacy
        .filter(|legacy| legacy.ignore == ignore)
        .map_or_else(Vec::new, |legacy| legacy.attributes.clone())
}

fn attribute(schema: &Schema, name: &str) -> Result<String, String> {
    let description = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| format!("unique: attribute: {name}: {error}"))?;
    Ok(schema.description_text(&description))
}

fn add_domain(config: &mut OverlayConfig, statement: &Statement<'_>) -> Result<(), String> {
    let text = statement.some()?.join(" ");
    change(config, |settings| {
        if settings.legacy.is_set() {
            return Err("cannot set Uri when legacy attrs are present".to_owned());
        }
        let domain = read_domain(statement, text)?;
        settings.domains.push(domain);
        Ok(())
    })
}

fn read_domain(statement: &Statement<'_>, text: String) -> Result<UniqueDomain, String> {
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

fn read_uri(statement: &Statement<'_>, url: LdapUrl) -> Result<UniqueUri, String> {
    if !url.host.is_empty() {
        return Err(format!("host <{}> not allowed in URI", url.host));
    }
    let base = match url.dn.as_str() {
        "" => None,
        text => Some(parse_dn(statement, text).map_err(|_| format!("<{text}> invalid DN 34 (Invalid DN syntax)"))?),
    };
    let attributes = url.attributes.iter().map(|name| attribute(statement.schema, name));
    let attributes = attributes.collect::<Result<_, _>>()?;
    let scope = url.scope.unwrap_or(UrlScope::Base);
    if scope == UrlScope::Base {
        return Err("unique: uri with base scope will always be unique".to_owned());
    }
    if let Some(text) = &url.filter {
        let filter = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| "unique: bad filter".to_owned())?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(statement.schema, &filter);
        if compiled
            .nodes
            .iter()
            .any(|node| matches!(node, Node::Constant(Truth::Undefined)))
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
