//! The entries of a database whose URLs count.

use std::{collections::HashMap, sync::Arc};

use ironbark_directory::overlay::{Author, Derive, DerivingEntry, DerivingLook, Entries, Shown, UrlSearch};
use ironbark_model::{AttributeDescription, Dn, Filter};
use ironbark_store::{Derived, DerivedCandidates, DitScope, EntryId, FilterItem, Purpose, Record, StoreError, Wanted};

use super::{
    expand::Expansion,
    sets::{Map, Set, Sets, class_filter, is_matched},
};

/// They, as one state of the database has them.
pub(super) struct Lists {
    pub(super) sets: Arc<Sets>,
    /// Those of each set, shorter normal names first, equally long ones by their octets: slapd's order.
    pub(super) of_set: Vec<Vec<List>>,
    /// Set and position of each entry.
    pub(super) by_entry: HashMap<EntryId, Vec<(usize, usize)>>,
    /// The entries by the normal forms of their names.
    pub(super) by_name: HashMap<Vec<u8>, EntryId>,
    /// What answers have beside that which filters see.
    shown: Vec<AttributeDescription>,
    shows_everything: bool,
}

/// An entry with URLs.
pub(super) struct List {
    pub(super) id: EntryId,
    pub(super) dn: Dn,
    pub(super) urls: Vec<ListUrl>,
    /// Whether it holds values of the attribute for members.
    pub(super) stores_members: bool,
    /// `dgIdentity`.
    pub(super) identity: Option<Dn>,
    /// Who has chosen that identity.
    author: Author,
    /// `dgAuthz`.
    pub(super) authz: Vec<Vec<u8>>,
}

/// One URL of an entry.
pub(super) struct ListUrl {
    pub(super) search: UrlSearch,
    pub(super) gives: Gives,
}

/// What a URL gives.
pub(super) enum Gives {
    /// The names of the entries found.
    Names,
    /// These attributes of theirs; none: all user attributes.
    Values(Vec<AttributeDescription>),
    /// Nothing but membership.
    Nothing,
}

/// A set, its only map, and its entries: they are groups.
#[derive(Clone, Copy)]
pub(super) struct Groups<'a> {
    pub(super) number: usize,
    pub(super) set: &'a Set,
    pub(super) map: &'a Map,
}

impl Lists {
    /// # Errors
    /// The storage failed.
    pub(super) fn read(sets: &Arc<Sets>, entries: Entries<'_>) -> Result<Self, StoreError> {
        let view = entries.view();
        let mut lists = Self {
            of_set: Vec::new(),
            by_entry: HashMap::new(),
            by_name: HashMap::new(),
            shown: Vec::new(),
            shows_everything: false,
            sets: Arc::clone(sets),
        };
        for (number, set) in sets.all.iter().enumerate() {
            let plan = view.plan_guarded(0, DitScope::Subtree, &set.holders, None)?;
            let mut candidates = view.candidates(&plan, 0)?;
            let mut found = Vec::new();
            while let Some(record) = candidates.next_record()? {
                if is_matched(&set.holders, &record) {
                    let dn = view.dn(record.id)?;
                    if set.counts(&record, &dn) {
                        found.push(lists.list(set, &record, dn, entries.author(&record)?)?);
                    }
                }
            }
            found.sort_by_cached_key(|list| slapd_order(&list.dn));
            for (position, list) in found.iter().enumerate() {
                lists.by_entry.entry(list.id).or_default().push((number, position));
                lists.by_name.insert(list.dn.normalized().to_vec(), list.id);
            }
            lists.of_set.push(found);
        }
        if sets.is_simple {
            let given = sets.all.iter().flat_map(|set| &set.maps).map(|map| map.given.clone());
            lists.shown.extend(given);
        }
        lists.shown.sort_unstable();
        lists.shown.dedup();
        Ok(lists)
    }

    fn list(&mut self, set: &Set, record: &Record<'_>, dn: Dn, author: Author) -> Result<List, StoreError> {
        let sets = Arc::clone(&self.sets);
        let values = |attribute: &Option<AttributeDescription>| -> Result<Vec<Vec<u8>>, StoreError> {
            let held = attribute.as_ref().and_then(|attribute| record.values(attribute));
            Ok(held
                .map(|held| held.to_attribute())
                .transpose()?
                .map_or_else(Vec::new, |held| held.values))
        };
        let mut urls = Vec::new();
        for held in record.answering(&set.urls) {
            for value in held.to_attribute()?.values {
                urls.extend(self.url(set, &value));
            }
        }
        let identity = values(&sets.identity)?;
        Ok(List {
            id: record.id,
            dn,
            urls,
            stores_members: set.maps.iter().any(|map| record.values(&map.member).is_some()),
            // A name that is none: nobody.
            identity: identity
                .first()
                .map(|name| Dn::parse(&sets.schema, name).unwrap_or_else(|_| Dn::root())),
            author,
            authz: values(&sets.authz)?,
        })
    }

    fn url(&mut self, set: &Set, value: &[u8]) -> Option<ListUrl> {
        let schema = &self.sets.schema;
        let text = std::str::from_utf8(value).ok()?;
        let plain = UrlSearch::parse(schema, text, None, None)?;
        if !set.gives_values() {
            let is_group = set.names().is_some() && plain.attributes.is_empty();
            let gives = if is_group { Gives::Names } else { Gives::Nothing };
            return Some(ListUrl { search: plain, gives });
        }
        // No lists of lists.
        let is_no_list = Filter::Not(Box::new(class_filter(&set.class_name)));
        let also = (!plain.attributes.is_empty() || !plain.is_filtered).then_some(is_no_list);
        let search = UrlSearch::parse(schema, text, also, None)?;
        let listed = search.attributes.iter();
        let named: Vec<_> = listed
            .filter_map(|name| schema.attribute_description(name.as_bytes()).ok())
            .collect();
        if search.attributes.is_empty() {
            self.shows_everything = true;
        } else if named.is_empty() {
            return None;
        }
        self.shown.extend(named.iter().map(|source| set.target(source).clone()));
        Some(ListUrl {
            search,
            gives: Gives::Values(named),
        })
    }

    /// The sets whose entries are groups for some purpose: each with its map that names an attribute.
    pub(super) fn groups(&self) -> impl Iterator<Item = Groups<'_>> {
        let sets = self.sets.all.iter().enumerate().filter(|_| !self.sets.is_simple);
        sets.flat_map(|(number, set)| set.maps.iter().map(move |map| Groups { number, set, map }))
    }

    /// What an entry is in a set.
    pub(super) fn of(&self, id: EntryId, number: usize) -> Option<&List> {
        let known = self.by_entry.get(&id)?.iter().find(|(set, _)| *set == number)?;
        self.of_set.get(known.0)?.get(known.1)
    }
}

impl List {
    /// A look with the rights by which its URLs are followed: those of who asks, or those that its identity and its
    /// authors have both. `None`: the client may not follow them.
    pub(super) fn look<'l>(&'l self, look: DerivingLook<'l>) -> Option<DerivingLook<'l>> {
        let Some(identity) = &self.identity else {
            return Some(look);
        };
        let is_free = self.authz.is_empty() || identity.is_root() || look.is_asked_by_root();
        (is_free || look.is_named_by(&self.authz)).then(|| look.for_chosen(identity, &self.author))
    }

    /// The URLs whose entries are members.
    pub(super) fn memberships(&self) -> impl Iterator<Item = &UrlSearch> {
        let searches = self.urls.iter().map(|url| &url.search);
        searches.filter(|search| search.attributes.is_empty())
    }
}

/// Shorter normal names first, equally long ones by their octets.
pub(super) fn slapd_order(dn: &Dn) -> (usize, Vec<u8>) {
    (dn.normalized().len(), dn.normalized().to_vec())
}

impl Derive for Lists {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.sets.matched
    }

    fn shown(&self) -> Shown<'_> {
        if self.shows_everything {
            Shown::Everything
        } else {
            Shown::These(&self.shown)
        }
    }

    fn is_off_under_manage_dsa_it(&self) -> bool {
        true
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let mut expansion = Expansion::new(self, entry, wanted, found);
        for (set, position) in self.by_entry.get(&entry.record.id).into_iter().flatten() {
            let set = self
                .sets
                .all
                .get(*set)
                .zip(self.of_set.get(*set).and_then(|lists| lists.get(*position)));
            if let Some((set, list)) = set {
                expansion.follow(set, list)?;
            }
        }
        for groups in self.groups() {
            if groups.map.is_nested && wanted.has(&groups.map.member) {
                self.add_nested_members(groups, &mut expansion)?;
            }
            if let Some(memberof) = groups.map.memberof.as_ref().filter(|memberof| wanted.has(memberof)) {
                self.add_groups(groups, memberof, &mut expansion)?;
            }
        }
        expansion.finish();
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
        _: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        self.is_held(entry, attribute, normal)
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked() else {
            return Ok(DerivedCandidates::Unknown);
        };
        let answers = |one: &AttributeDescription| self.sets.schema.is_description_subtype(one, asked);
        let names = item.equalities(look.view);
        let mut may = DerivedCandidates::nothing();
        for groups in self.groups() {
            if answers(&groups.map.given) {
                may = may.or(self.may_hold_member(groups, look, item, names.as_deref())?);
            }
            if groups.map.memberof.as_ref().is_some_and(answers) {
                may = may.or(match &names {
                    Some(names) => self.may_be_member(groups, look, names, item)?,
                    None => DerivedCandidates::Unknown,
                });
            }
        }
        Ok(may)
    }
}
