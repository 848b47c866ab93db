//! slapo-dyngroup(5): compares on the members of a dynamic group ask its URLs.

use std::{ops::ControlFlow, sync::Arc};

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_handler,
};
use ironbark_directory::overlay::{
    Author, Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads, UrlSearch,
};
use ironbark_model::{AttributeDescription, Dn, Entry, Schema, Truth, entry::EntrySource};
use ironbark_store::{Derived, DerivedCandidates, DitScope, FilterItem, Purpose, StoreError, Wanted};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "dyngroup",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcDynGroupConfig", "olcDGConfig"],
            oid: "3.17.1",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<DyngroupConfig>,
        schema: "",
        introduction: "A compare finds out whether an entry belongs to a group that has URLs in place of members. \
            Searches do not: overlay dynlist is for them, and nestgroup for groups of groups.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

const ROWS: &[Setting] = &[Setting::new(
    SettingLevel::Overlay("dyngroup"),
    &["attrpair"],
    &["olcDynGroupAttrPair", "olcDGAttrPair"],
)
.olc("3.17.1", Form::Texts)
.takes("<member attribute> <URL attribute>", "")
.does(
    "A compare on the first attribute of an entry that has no value of it is true if an LDAP URL in the second one \
     finds the entry whose name is compared: it is within base and scope, and matches the filter for the authors of \
     the entry, whatever the client may see of it. URLs with a host, attributes or extensions are left out. One statement for each pair.",
)
.since("2.2")
.like(&["member labeledURI"])
.obeyed(overlay_handler!(DyngroupConfig, add, |settings, _| {
    let pairs = settings.pairs.iter();
    pairs.map(|(member, url)| format!("{member} {url}")).collect()
}))];

#[derive(Clone, PartialEq, Debug, Default)]
struct DyngroupConfig {
    pairs: Vec<(String, String)>,
}

impl OverlaySettings for DyngroupConfig {}

fn add(settings: &mut DyngroupConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [member, url] = statement.arguments else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let schema = statement.schema;
    let described = |name: &String| {
        let description = schema.attribute_description(name.as_bytes());
        description
            .map(|description| schema.description_text(&description))
            .map_err(|error| format!("attribute description unknown: \"{name}\": {error}"))
    };
    let pair = (described(member)?, described(url)?);
    if !settings.pairs.contains(&pair) {
        settings.pairs.push(pair);
    }
    Ok(())
}

fn make(settings: &DyngroupConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("attribute \"{name}\": {error}"))
    };
    let mut groups = DynamicGroups {
        members: Vec::new(),
        urls: Vec::new(),
    };
    for (member, url) in &settings.pairs {
        let (member, url) = (described(member)?, described(url)?);
        // As in slapd, the first pair of an attribute counts.
        if !groups.members.contains(&member) {
            groups.members.push(member);
            groups.urls.push(url);
        }
    }
    if groups.members.is_empty() {
        return Ok(Overlay::new("dyngroup"));
    }
    Ok(Overlay {
        derivation: Some(Arc::new(Dyngroup(Arc::new(groups)))),
        ..Overlay::new("dyngroup")
    })
}

/// Steps for looking at one URL.
const URL_STEPS: u64 = 50;

struct Dyngroup(Arc<DynamicGroups>);

impl Derivation for Dyngroup {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

struct DynamicGroups {
    members: Vec<AttributeDescription>,
    /// Of each of `members`.
    urls: Vec<AttributeDescription>,
}

impl DynamicGroups {
    /// The name that a compare asserts, and the entry if it exists, in whatever database.
    fn subject(look: &DerivingLook<'_>, normal: &[u8]) -> Result<Option<(Dn, Option<Entry>)>, StoreError> {
        let schema = look.view.schema();
        let Ok(dn) = Dn::parse(schema, normal) else {
            return Ok(None);
        };
        let entry = look.entries().find(&dn)?;
        Ok(Some((dn, entry)))
    }
}

/// Whether a URL finds an entry, for the authors of the group. A URL without a filter tells nothing of the entry.
fn finds(
    look: &DerivingLook<'_>,
    author: &Author,
    url: &[u8],
    dn: &Dn,
    entry: Option<&Entry>,
) -> Result<bool, StoreError> {
    let (view, schema) = (look.view, look.view.schema());
    let text = std::str::from_utf8(url).ok();
    let search = text.and_then(|text| UrlSearch::parse(schema, text, None, view.budget()));
    let Some(search) = search.filter(|search| search.attributes.is_empty() && search.is_in_scope(dn)) else {
        return Ok(false);
    };
    if !search.is_filtered {
        return Ok(true);
    }
    if author.is_trusted() {
        return Ok(entry.is_some_and(|entry| {
            let source = EntrySource::new(schema, &search.filter, entry).within(view.budget());
            search.filter.evaluate(schema, &source, &mut Vec::new()) == Truth::True
        }));
    }
    let of_entry = UrlSearch {
        base: dn.clone(),
        scope: DitScope::Base,
        ..search
    };
    let mut is_found = false;
    look.for_author(author).find_all(&of_entry, &mut |_, _| {
        is_found = true;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(is_found)
}

impl Derive for DynamicGroups {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.members
    }

    /// No values; but a compare with who is no member is false, as the group has members.
    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        if wanted.purpose != Purpose::Compare {
            return Ok(());
        }
        for (member, urls) in self.members.iter().zip(&self.urls) {
            let record = &entry.record;
            if wanted.has(member) && record.values(urls).is_some() && record.values(member).is_none() {
                found.add(member, []);
            }
        }
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
        purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        let mut pairs = self.members.iter().zip(&self.urls);
        let Some((_, urls)) = pairs.find(|(member, _)| *member == attribute) else {
            return Ok(None);
        };
        let is_static = entry.record.values(attribute).is_some();
        let (Some(urls), Purpose::Compare, false) = (entry.record.values(urls), purpose, is_static) else {
            return Ok(None);
        };
        let Some((dn, subject)) = Self::subject(&entry.look, normal)? else {
            return Ok(Some(false));
        };
        let author = entry.look.author(&entry.record)?;
        for url in urls.to_attribute()?.values {
            if !entry.look.view.spend(URL_STEPS) {
                break;
            }
            if finds(&entry.look, &author, &url, &dn, subject.as_ref())? {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    fn candidates(&self, _: &DerivingLook<'_>, _: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        Ok(DerivedCandidates::nothing())
    }
}
