//! What the configuration says, ready for use.

use std::{borrow::Cow, sync::Arc};

use ironbark_config::SettingError;
use ironbark_directory::overlay::UrlSearch;
use ironbark_model::{AttributeDescription, CompiledFilter, Dn, Filter, Schema, Truth, filter::Assertion};
use ironbark_store::{DitScope, Record};

use super::settings::{DynlistConfig, MapSetting, SetSetting};

/// All `dynlist-attrset`.
pub(super) struct Sets {
    pub(super) schema: Arc<Schema>,
    pub(super) all: Vec<Set>,
    /// `dynlist-simple`.
    pub(super) is_simple: bool,
    /// What filters see.
    pub(super) matched: Vec<AttributeDescription>,
    /// The attributes that hold URLs.
    pub(super) url_attributes: Vec<AttributeDescription>,
    /// `dgIdentity` and `dgAuthz`, if the schema has them.
    pub(super) identity: Option<AttributeDescription>,
    pub(super) authz: Option<AttributeDescription>,
}

/// One `dynlist-attrset`.
pub(super) struct Set {
    /// The entries of its class.
    pub(super) class: CompiledFilter,
    /// Name of the class.
    pub(super) class_name: String,
    /// The entries of its class that hold URLs.
    pub(super) holders: CompiledFilter,
    /// Only these entries.
    pub(super) within: Option<UrlSearch>,
    /// The attribute that holds URLs.
    pub(super) urls: AttributeDescription,
    pub(super) maps: Vec<Map>,
}

/// What the URLs of an entry give.
pub(super) struct Map {
    /// The attribute of the entry with the URLs.
    pub(super) given: AttributeDescription,
    /// Whether it has another name there, or the same said again.
    pub(super) is_mapped: bool,
    /// The attribute for names of members, or the one that is taken from the entries found.
    pub(super) member: AttributeDescription,
    /// The attribute of members that names their groups.
    pub(super) memberof: Option<AttributeDescription>,
    /// Static groups count too.
    pub(super) static_class: Option<CompiledFilter>,
    /// Members of groups among the members count too.
    pub(super) is_nested: bool,
}

impl Sets {
    /// # Errors
    /// The schema lacks a name.
    pub(super) fn new(settings: &DynlistConfig, schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let all = settings.sets.iter().map(|set| Set::new(set, schema));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let maps = all.iter().flat_map(|set| &set.maps).filter(|_| !settings.is_simple);
        let mut matched: Vec<_> = maps
            .flat_map(|map| [Some(&map.given), map.memberof.as_ref()])
            .flatten()
            .cloned()
            .collect();
        matched.sort_unstable();
        matched.dedup();
        Ok(Self {
            schema: Arc::clone(schema),
            is_simple: settings.is_simple,
            matched,
            url_attributes: all.iter().map(|set| set.urls.clone()).collect(),
            identity: schema.attribute_description(b"dgIdentity").ok(),
            authz: schema.attribute_description(b"dgAuthz").ok(),
            all,
        })
    }
}

impl Set {
    fn new(setting: &SetSetting, schema: &Schema) -> Result<Self, SettingError> {
        let is_of_class = || class_filter(&setting.class);
        let maps = setting.maps.iter().map(|map| Map::new(map, schema));
        Ok(Self {
            class: compiled(schema, &is_of_class()),
            class_name: setting.class.clone(),
            holders: compiled(
                schema,
                &Filter::And(vec![
                    is_of_class(),
                    Filter::Present(Cow::Owned(setting.urls.clone().into_bytes())),
                ]),
            ),
            within: setting.within.as_ref().map(|url| within(schema, url)).transpose()?,
            urls: described(schema, &setting.urls)?,
            maps: maps.collect::<Result<_, _>>()?,
        })
    }

    /// The map by which entries are groups: URLs without attributes name their members.
    pub(super) fn names(&self) -> Option<&Map> {
        match &*self.maps {
            [map] if !map.is_mapped => Some(map),
            _ => None,
        }
    }

    /// Whether its URLs give values of the entries found.
    pub(super) fn gives_values(&self) -> bool {
        self.maps.is_empty() || self.maps.iter().any(|map| map.is_mapped)
    }

    /// The attribute that has values of another one.
    pub(super) fn target<'a>(&'a self, source: &'a AttributeDescription) -> &'a AttributeDescription {
        let map = self.maps.iter().find(|map| map.member == *source);
        map.map_or(source, |map| &map.given)
    }

    /// Whether its URLs count in an entry of its class.
    pub(super) fn counts(&self, record: &Record<'_>, dn: &Dn) -> bool {
        self.within
            .as_ref()
            .is_none_or(|within| within.is_in_scope(dn) && is_matched(&within.filter, record))
    }
}

impl Map {
    fn new(setting: &MapSetting, schema: &Schema) -> Result<Self, SettingError> {
        let member = described(schema, &setting.member)?;
        let mapped = setting
            .mapped
            .as_ref()
            .map(|name| described(schema, name))
            .transpose()?;
        let memberof = setting.memberof.as_ref().map(|name| described(schema, name));
        Ok(Self {
            is_mapped: mapped.is_some(),
            given: mapped.unwrap_or_else(|| member.clone()),
            member,
            memberof: memberof.transpose()?,
            static_class: setting
                .static_class
                .as_ref()
                .map(|class| compiled(schema, &class_filter(class))),
            is_nested: setting.is_nested,
        })
    }

    /// Whether an entry is a static group.
    pub(super) fn is_static(&self, record: &Record<'_>) -> bool {
        self.static_class
            .as_ref()
            .is_some_and(|class| is_matched(class, record))
    }
}

/// Whether an entry matches, whoever asks.
pub(super) fn is_matched(filter: &CompiledFilter, record: &Record<'_>) -> bool {
    record.evaluate(filter, &mut Vec::new()) == Truth::True
}

/// The entries of a class.
pub(super) fn class_filter(class: &str) -> Filter<'_> {
    Filter::Equality(Assertion {
        attribute: Cow::Borrowed(b"objectClass"),
        value: Cow::Borrowed(class.as_bytes()),
    })
}

fn compiled(schema: &Schema, filter: &Filter<'_>) -> CompiledFilter {
    let mut compiled = CompiledFilter::default();
    compiled.compile(schema, filter);
    compiled
}

fn within(schema: &Schema, url: &str) -> Result<UrlSearch, SettingError> {
    let mut within =
        UrlSearch::parse(schema, url, None, None).ok_or_else(|| format!("unable to parse URI \"{url}\""))?;
    // A URL without a name stands for all names.
    if within.base.is_root() {
        within.scope = DitScope::Subtree;
    }
    Ok(within)
}

fn described(schema: &Schema, name: &str) -> Result<AttributeDescription, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    description.map_err(|error| format!("attribute \"{name}\": {error}").into())
}
