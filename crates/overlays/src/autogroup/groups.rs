//! The groups of a database, their members, and the groups of members.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

use ironbark_directory::overlay::{Author, Derive, DerivingEntry, DerivingLook, Entries, UrlSearch};
use ironbark_model::{AttributeDescription, Dn, Truth, number_map::NumberMap};
use ironbark_store::{Derived, DerivedCandidates, DitScope, EntryId, FilterItem, Purpose, Record, StoreError, Wanted};

use super::Autogroup;
use crate::values::normal;

/// They, as one state of the database has them.
pub(super) struct Groups {
    overlay: Arc<Autogroup>,
    all: Vec<Group>,
    by_entry: NumberMap<usize>,
    by_name: HashMap<Vec<u8>, usize>,
}

struct Group {
    id: EntryId,
    dn: Dn,
    author: Author,
    /// The attribute for its members.
    member: AttributeDescription,
    urls: Vec<Url>,
}

struct Url {
    search: UrlSearch,
    /// The attribute whose values are members; `None`: the entries themselves.
    values: Option<AttributeDescription>,
}

impl Groups {
    /// # Errors
    /// The storage failed.
    pub(super) fn read(overlay: &Arc<Autogroup>, entries: Entries<'_>) -> Result<Self, StoreError> {
        let view = entries.view();
        let mut groups = Self {
            overlay: Arc::clone(overlay),
            all: Vec::new(),
            by_entry: NumberMap::default(),
            by_name: HashMap::new(),
        };
        for set in &overlay.sets {
            let plan = view.plan_guarded(0, DitScope::Subtree, &set.class, None)?;
            let mut candidates = view.candidates(&plan, 0)?;
            while let Some(record) = candidates.next_record()? {
                let held = record.values(&set.urls);
                let Some(held) = held.filter(|_| record.evaluate(&set.class, &mut Vec::new()) == Truth::True) else {
                    continue;
                };
                if groups.by_entry.contains_key(&record.id) {
                    continue;
                }
                let dn = view.dn(record.id)?;
                let number = groups.all.len();
                groups.by_entry.insert(record.id, number);
                groups.by_name.insert(dn.normalized().to_vec(), number);
                let urls = held.to_attribute()?.values;
                groups.all.push(Group {
                    id: record.id,
                    dn,
                    author: entries.author(&record)?,
                    member: set.member.clone(),
                    urls: urls.iter().filter_map(|url| overlay.url(url)).collect(),
                });
            }
        }
        Ok(groups)
    }

    fn group(&self, number: Option<&usize>) -> Option<&Group> {
        number.and_then(|number| self.all.get(*number))
    }

    /// Adds the members of a group.
    fn add_members(&self, group: &Group, look: &DerivingLook<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let (mut values, mut known) = (Vec::new(), HashSet::new());
        let normal = |value: &[u8]| normal(&self.overlay.schema, &group.member, value);
        let look = look.for_author(&group.author);
        for url in &group.urls {
            look.find_in_database(&url.search, &mut |look, record| {
                match &url.values {
                    None if look.readable(record, |_| ()).is_none() => {}
                    None => {
                        let mut name = Vec::new();
                        look.view.pretty_dn(record.id, &mut name)?;
                        if known.insert(normal(&name)) {
                            values.push(name);
                        }
                    }
                    Some(attribute) => {
                        let all = record.derived(attribute, Purpose::Show)?.merged(record, attribute)?;
                        for value in look.readable_values(record, attribute, all) {
                            if known.insert(normal(&value)) {
                                values.push(value);
                            }
                        }
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        found.replace(&group.member, values);
        Ok(())
    }
}

impl Autogroup {
    fn url(&self, value: &[u8]) -> Option<Url> {
        let search = UrlSearch::parse(&self.schema, std::str::from_utf8(value).ok()?, None, None)?;
        let values = match search.attributes.first() {
            Some(name) => Some(self.schema.attribute_description(name.as_bytes()).ok()?),
            None => None,
        };
        Some(Url { search, values })
    }
}

impl Group {
    /// Whether a URL without attributes finds an entry.
    fn names(&self, look: &DerivingLook<'_>, record: &Record<'_>) -> Result<bool, StoreError> {
        let look = look.for_author(&self.author);
        for url in self.urls.iter().filter(|url| url.values.is_none()) {
            if !look.view.spend(1) {
                break;
            }
            if look.is_in_scope(&url.search, record)? && look.is_found(&url.search, record) {
                return Ok(look.readable(record, |_| ()).is_some());
            }
        }
        Ok(false)
    }

    fn has_values(&self) -> bool {
        self.urls.iter().any(|url| url.values.is_some())
    }
}

impl Derive for Groups {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.overlay.attributes
    }

    fn is_off_under_manage_dsa_it(&self) -> bool {
        false
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let look = entry.look;
        if let Some(group) = self.group(self.by_entry.get(&entry.record.id))
            && wanted.has(&group.member)
        {
            self.add_members(group, &look, found)?;
        }
        let memberof = &self.overlay.memberof;
        if wanted.has(memberof) {
            let mut names = Vec::new();
            for group in &self.all {
                if group.names(&look, &entry.record)? {
                    names.push(group.dn.pretty().as_bytes().to_vec());
                }
            }
            if !names.is_empty() {
                found.add(memberof, names);
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
        let look = entry.look;
        if *attribute == self.overlay.memberof {
            for value in entry.values(attribute, purpose)? {
                if self::normal(&self.overlay.schema, attribute, &value) == normal {
                    return Ok(Some(true));
                }
            }
            let group = self.group(self.by_name.get(normal));
            return match group {
                Some(group) => group.names(&look, &entry.record).map(Some),
                None => Ok(Some(false)),
            };
        }
        let Some(group) = self.group(self.by_entry.get(&entry.record.id)) else {
            return match entry.record.values(attribute) {
                Some(held) => held.holds_normalized(normal).map(Some),
                None => Ok(Some(false)),
            };
        };
        if group.has_values() {
            return Ok(None);
        }
        let Ok(dn) = Dn::parse(&self.overlay.schema, normal) else {
            return Ok(Some(false));
        };
        match look.find(&dn)? {
            Some(member) => group.names(&look, &member).map(Some),
            None => Ok(Some(false)),
        }
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked().filter(|_| !item.is_chain()) else {
            return Ok(DerivedCandidates::Unknown);
        };
        let schema = &self.overlay.schema;
        let mut may = DerivedCandidates::nothing();
        if schema.is_description_subtype(&self.overlay.memberof, asked) {
            let Some(names) = item.equalities(look.view) else {
                return Ok(DerivedCandidates::Unknown);
            };
            for group in names.into_iter().filter_map(|name| self.group(self.by_name.get(name))) {
                for url in group.urls.iter().filter(|url| url.values.is_none()) {
                    may = may.or(look.may_find(&url.search, item.most())?);
                }
            }
        }
        let groups = self.all.iter();
        let groups = groups.filter(|group| schema.is_description_subtype(&group.member, asked));
        Ok(may.or(DerivedCandidates::Ids(groups.map(|group| group.id).collect())))
    }
}
