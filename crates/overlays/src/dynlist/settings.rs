//! Settings of slapo-dynlist(5).

use ironbark_config::{SettingError, Statement, overlay::OverlaySettings, reader::quote_value};
use ironbark_model::{AttributeDescription, Filter, Schema, ldap_url::LdapUrl};

/// Nesting of filters in URLs.
pub(super) const FILTER_DEPTH: usize = 100;

/// Which entries are dynamic, and how.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct DynlistConfig {
    /// `dynlist-attrset`, in order.
    pub(super) sets: Vec<SetSetting>,
    /// `dynlist-simple`: values are shown, and filters do not see them.
    pub(super) is_simple: bool,
}

/// One `dynlist-attrset`. Names are as the schema prints them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SetSetting {
    /// Object class of the entries.
    pub(super) class: String,
    /// Only entries that this URL names.
    pub(super) within: Option<String>,
    /// The attribute that holds URLs.
    pub(super) urls: String,
    /// What the URLs give; empty: all attributes that they name.
    pub(super) maps: Vec<MapSetting>,
}

/// `[<mapped>:]<member>[+<memberOf>[@<class>[*]]]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MapSetting {
    /// The attribute in the dynamic entry, if it has another name there.
    pub(super) mapped: Option<String>,
    /// The attribute for names of members, or the one that is taken from the entries found.
    pub(super) member: String,
    /// The attribute of members that names their groups.
    pub(super) memberof: Option<String>,
    /// Static groups count too: their class.
    pub(super) static_class: Option<String>,
    /// Members of groups among the members count too.
    pub(super) is_nested: bool,
}

impl OverlaySettings for DynlistConfig {
    fn looked_up(&self) -> Vec<String> {
        let maps = self.sets.iter().flat_map(|set| &set.maps);
        let with_static = maps.filter(|map| map.static_class.is_some());
        with_static.map(|map| map.member.clone()).collect()
    }
}

const USAGE: &str =
    "\"dynlist-attrset <oc> [uri] <URL-ad> [[<mapped-ad>:]<member-ad>[+<memberOf-ad>[@<static-oc>[*]] ...]\": ";

fn wrong(text: &str) -> SettingError {
    format!("{USAGE}{text}").into()
}

impl SetSetting {
    /// Reads one.
    ///
    /// # Errors
    /// Says what is wrong, as slapd does.
    pub(super) fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let schema = statement.schema;
        let (class, rest) = match statement.arguments {
            [class, rest @ ..] if !rest.is_empty() => (class, rest),
            _ => return Err(format!("{} expected", statement.grammar).into()),
        };
        let class = class_name(schema, class)?;
        let (within, rest) = match rest {
            [url, rest @ ..] if is_url(url) => (Some(checked_url(schema, url)?), rest),
            rest => (None, rest),
        };
        let [urls, maps @ ..] = rest else {
            return Err(format!("{} expected", statement.grammar).into());
        };
        let description = described(schema, urls)?;
        if !is_subtype_of_labeled_uri(schema, &description) {
            return Err(wrong(&format!(
                "AttributeDescription \"{urls}\" must be a subtype of \"labeledURI\""
            )));
        }
        let maps = maps.iter().map(|word| MapSetting::parse(schema, word));
        Ok(Self {
            class,
            within,
            urls: schema.description_text(&description),
            maps: maps.collect::<Result<_, _>>()?,
        })
    }

    /// `dynlist-attrpair <member> <URLs>`: the form of slapd 2.3 for groups of class groupOfURLs.
    ///
    /// # Errors
    /// Says what is wrong.
    pub(super) fn of_pair(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let [member, urls] = statement.arguments else {
            return Err("<member attribute> <URL attribute> expected".into());
        };
        let schema = statement.schema;
        let description = described(schema, urls)?;
        if !is_subtype_of_labeled_uri(schema, &description) {
            return Err(wrong(&format!(
                "AttributeDescription \"{urls}\" must be of a subtype \"labeledURI\""
            )));
        }
        Ok(Self {
            class: class_name(schema, "groupOfURLs")?,
            within: None,
            urls: schema.description_text(&description),
            maps: vec![MapSetting {
                member: schema.description_text(&described(schema, member)?),
                ..MapSetting::default()
            }],
        })
    }

    /// As slapd prints it.
    pub(super) fn text(&self) -> String {
        let within = self.within.as_ref().map(|url| format!(" {}", quote_value(url)));
        let maps: String = self.maps.iter().flat_map(|map| [" ".to_owned(), map.text()]).collect();
        format!("{}{} {}{maps}", self.class, within.unwrap_or_default(), self.urls)
    }
}

impl MapSetting {
    fn parse(schema: &Schema, word: &str) -> Result<Self, SettingError> {
        let (mapped, rest) = match word.split_once(':') {
            Some((mapped, rest)) => (Some(mapped), rest),
            None => (None, word),
        };
        let (member, groups) = match rest.split_once('+') {
            Some((member, groups)) => (member, Some(groups)),
            None => (rest, None),
        };
        let text = |name: &str| Ok::<_, SettingError>(schema.description_text(&described(schema, name)?));
        let mut map = Self {
            mapped: mapped.map(text).transpose()?,
            member: text(member)?,
            ..Self::default()
        };
        if let Some(groups) = groups {
            let (groups, is_nested) = match groups.rsplit_once('*') {
                Some((groups, _)) => (groups, true),
                None => (groups, false),
            };
            let (memberof, class) = match groups.split_once('@') {
                Some((memberof, class)) => (memberof, Some(class)),
                None => (groups, None),
            };
            map.memberof = Some(text(memberof)?);
            map.is_nested = is_nested;
            map.static_class = class.map(|class| class_name(schema, class)).transpose()?;
        }
        Ok(map)
    }

    fn text(&self) -> String {
        let mapped = self.mapped.iter().map(|mapped| format!("{mapped}:"));
        let groups = self.memberof.iter().map(|memberof| {
            let star = if self.is_nested { "*" } else { "" };
            let class = self.static_class.iter().map(|class| format!("@{class}"));
            format!("+{memberof}{}{star}", class.collect::<String>())
        });
        mapped.collect::<String>() + &self.member + &groups.collect::<String>()
    }
}

fn is_url(word: &str) -> bool {
    word.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("ldap://"))
}

/// A URL of base, scope and filter alone.
fn checked_url(schema: &Schema, word: &str) -> Result<String, SettingError> {
    let url = LdapUrl::parse(word).map_err(|_| wrong(&format!("unable to parse URI \"{word}\"")))?;
    if !url.host.is_empty() {
        return Err(wrong(&format!("host not allowed in URI \"{word}\"")));
    }
    if !url.attributes.is_empty() {
        return Err(wrong(&format!("attrs not allowed in URI \"{word}\"")));
    }
    if !url.extensions.is_empty() {
        return Err(wrong(&format!("extensions not allowed in URI \"{word}\"")));
    }
    ironbark_model::Dn::parse(schema, url.dn.as_bytes())
        .map_err(|_| wrong(&format!("DN normalization failed in URI \"{word}\"")))?;
    if let Some(filter) = &url.filter {
        Filter::parse(filter.as_bytes(), FILTER_DEPTH)
            .map_err(|_| wrong(&format!("filter parsing failed in URI \"{word}\"")))?;
    }
    Ok(word.to_owned())
}

fn class_name(schema: &Schema, name: &str) -> Result<String, SettingError> {
    let class = schema.find_object_class(name.as_bytes());
    let class = class.ok_or_else(|| wrong(&format!("unable to find ObjectClass \"{name}\"")))?;
    Ok(class.names.first().map_or(class.oid.as_ref(), AsRef::as_ref).to_owned())
}

fn described(schema: &Schema, name: &str) -> Result<AttributeDescription, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    description.map_err(|error| wrong(&format!("unable to find AttributeDescription \"{name}\": {error}")))
}

fn is_subtype_of_labeled_uri(schema: &Schema, description: &AttributeDescription) -> bool {
    let general = schema.attribute_description(b"labeledURI");
    general.is_ok_and(|general| schema.is_description_subtype(description, &general))
}
