//! slapo-nestgroup(5): members of groups of groups, and groups of groups of members.

mod rows;
mod settings;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::overlay::{Author, Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, Dn, Schema, dn::name_and_uid};
use ironbark_store::{Derived, DerivedCandidates, EntryId, FilterItem, Purpose, StoreError, Wanted};
use roaring::RoaringTreemap;

use self::settings::{Flags, NestgroupConfig};
use crate::{Row, values::stored};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "nestgroup",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcNestGroupConfig"],
            oid: "3.25.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<NestgroupConfig>,
        schema: "",
        introduction: "Groups may be members of groups: searches then see who belongs to a group through others, and to \
            which groups an entry belongs through others. Nothing is stored. A loop of groups does no harm.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// Steps for following one link.
const LINK_STEPS: u64 = 30;

fn make(settings: &NestgroupConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let attribute = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("attribute \"{name}\": {error}"))
    };
    let (member, memberof) = (attribute(&settings.member)?, attribute(&settings.memberof)?);
    let flags = settings.flags;
    let mut attributes = Vec::new();
    attributes.extend((flags.member_filter || flags.member_values).then(|| member.clone()));
    attributes.extend((flags.memberof_filter || flags.memberof_values).then(|| memberof.clone()));
    if attributes.is_empty() || settings.bases.is_empty() {
        return Ok(Overlay::new("nestgroup"));
    }
    let groups = NestedGroups {
        schema: Arc::clone(schema),
        member,
        memberof,
        bases: settings.bases.clone(),
        flags,
        attributes,
    };
    Ok(Overlay {
        derivation: Some(Arc::new(Nestgroup(Arc::new(groups)))),
        ..Overlay::new("nestgroup")
    })
}

struct Nestgroup(Arc<NestedGroups>);

impl Derivation for Nestgroup {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    /// It sees memberOf that is computed, and dynamic groups.
    fn level(&self) -> u8 {
        4
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

struct NestedGroups {
    schema: Arc<Schema>,
    member: AttributeDescription,
    memberof: AttributeDescription,
    bases: Vec<Dn>,
    flags: Flags,
    /// What is derived.
    attributes: Vec<AttributeDescription>,
}

/// Values by their normal forms.
struct Known(HashSet<Vec<u8>>);

/// The groups that were read, and for whom.
#[derive(Default)]
struct Seen(HashMap<Vec<u8>, Vec<Author>>);

impl Seen {
    /// `false`: it was read for who may read as much.
    fn insert(&mut self, group: &Dn, above: &Author) -> bool {
        let known = self.0.entry(group.normalized().to_vec()).or_default();
        let is_new = !known.iter().any(|known| above.is_within(known));
        if is_new {
            known.push(above.clone());
        }
        is_new
    }
}

impl NestedGroups {
    /// The name in a value, whatever identifier it has.
    fn name(&self, value: &[u8]) -> Option<Dn> {
        Dn::parse(&self.schema, name_and_uid::split(value).0).ok()
    }

    fn holds_groups(&self, name: &Dn) -> bool {
        self.bases.iter().any(|base| name.is_within(base))
    }

    /// The members of an entry through the groups among them, without its own, in slapd's order. Each group on the way
    /// to a member has chosen the next one: so the authors of all of them must be able to read it in its own group.
    fn nested_members(&self, entry: &DerivingEntry<'_>, purpose: Purpose) -> Result<Vec<Vec<u8>>, StoreError> {
        let own = entry.values(&self.member, purpose)?;
        let author = entry.look.author(&entry.record)?;
        let mut known = Known(HashSet::new());
        let mut unread: Vec<Dn> = Vec::new();
        for value in &own {
            unread.extend(self.name(value).filter(|name| {
                known.0.insert(name.normalized().to_vec());
                self.holds_groups(name)
            }));
        }
        let (mut found, mut seen) = (Vec::new(), Seen::default());
        // Depth by depth, of each group the last one first.
        for group in unread {
            let mut level = vec![(group, author.clone())];
            while !level.is_empty() {
                let mut next = Vec::new();
                for (name, above) in level {
                    if seen.insert(&name, &above) {
                        self.read_members(&entry.look, &name, Some(above), &mut known, &mut found, &mut next)?;
                    }
                }
                next.reverse();
                level = next;
            }
        }
        Ok(found)
    }

    /// Adds the members of a group that are not known yet to `found`, and the groups among all of them to `groups`,
    /// with the authors of those above them. `above`: who must be able to read the members; `None`: that does not
    /// matter.
    fn read_members(
        &self,
        look: &DerivingLook<'_>,
        group: &Dn,
        above: Option<Author>,
        known: &mut Known,
        found: &mut Vec<Vec<u8>>,
        groups: &mut Vec<(Dn, Author)>,
    ) -> Result<(), StoreError> {
        let Some(record) = look.find(group)? else {
            return Ok(());
        };
        let mut values = stored(&record, &self.member)?;
        let above = above.unwrap_or_else(Author::trusted);
        if !above.is_trusted() {
            values = look.for_author(&above).readable_values(&record, &self.member, values);
        }
        let mut below = None;
        for value in values {
            if !look.view.spend(LINK_STEPS) {
                return Ok(());
            }
            let Some(name) = self.name(&value) else { continue };
            if known.0.insert(name.normalized().to_vec()) {
                found.push(value);
            }
            if self.holds_groups(&name) {
                let below = match &below {
                    Some(known) => Author::clone(known),
                    None => below.insert(above.and(&look.author(&record)?)).clone(),
                };
                groups.push((name, below));
            }
        }
        Ok(())
    }

    /// Whether all of these groups may give everything.
    fn are_trusted(look: &DerivingLook<'_>, groups: &RoaringTreemap) -> Result<bool, StoreError> {
        for id in groups {
            if let Some(group) = look.view.record(id)?
                && !look.author(&group)?.is_trusted()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The entries that have a name as a member: in `found` all of them, in `groups` those that may be members
    /// themselves, and the groups above them. With `everywhere`, groups may lie anywhere.
    fn groups_above(
        &self,
        look: &DerivingLook<'_>,
        name: &[u8],
        everywhere: bool,
        found: &mut RoaringTreemap,
        groups: &mut Vec<(EntryId, Dn)>,
    ) -> Result<(), StoreError> {
        let mut unread = vec![name.to_vec()];
        while let Some(member) = unread.pop() {
            for id in look.holders(&self.member, &member)? {
                if !look.view.spend(LINK_STEPS) {
                    return Ok(());
                }
                if !found.insert(id) {
                    continue;
                }
                let dn = look.view.dn(id)?;
                if everywhere || self.holds_groups(&dn) {
                    unread.push(dn.normalized().to_vec());
                    groups.push((id, dn));
                }
            }
        }
        Ok(())
    }

    /// The groups above those that an entry names, without these, in slapd's order.
    fn nested_groups(&self, entry: &DerivingEntry<'_>, purpose: Purpose) -> Result<Vec<Vec<u8>>, StoreError> {
        let own = entry.values(&self.memberof, purpose)?;
        let names: Vec<Dn> = own.iter().filter_map(|value| self.name(value)).collect();
        let (mut seen, mut groups) = (RoaringTreemap::new(), Vec::new());
        for name in &names {
            self.groups_above(&entry.look, name.normalized(), false, &mut seen, &mut groups)?;
        }
        let own: HashSet<&[u8]> = names.iter().map(Dn::normalized).collect();
        groups.retain(|(_, dn)| !own.contains(dn.normalized()));
        if !Self::are_trusted(&entry.look, &seen)? {
            let name = entry.dn()?;
            let mut leading = Vec::new();
            for (id, dn) in groups {
                if self.leads_to(&entry.look, id, &name)? {
                    leading.push((id, dn));
                }
            }
            groups = leading;
        }
        groups.sort_by_cached_key(|(_, dn)| (dn.normalized().len(), dn.normalized().to_vec()));
        Ok(groups
            .into_iter()
            .map(|(_, dn)| dn.pretty().as_bytes().to_vec())
            .collect())
    }

    /// Whether a group has a member through groups, for the authors of each of them.
    fn leads_to(&self, look: &DerivingLook<'_>, group: EntryId, member: &Dn) -> Result<bool, StoreError> {
        let Some(record) = look.view.record(group)? else {
            return Ok(false);
        };
        let below = look.below(record);
        let nested = self.nested_members(&below, Purpose::Match)?;
        let mut names = nested.iter().filter_map(|value| self.name(value));
        Ok(names.any(|name| name == *member))
    }

    /// A group and all groups below it, by their normal forms.
    fn groups_below(&self, look: &DerivingLook<'_>, group: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut below = HashSet::from([group.to_vec()]);
        let Ok(dn) = Dn::parse(&self.schema, group) else {
            return Ok(below.into_iter().collect());
        };
        let (mut known, mut found, mut unread) = (Known(HashSet::new()), Vec::new(), vec![dn]);
        while let Some(group) = unread.pop() {
            let mut groups = Vec::new();
            self.read_members(look, &group, None, &mut known, &mut found, &mut groups)?;
            for (name, _) in groups {
                if below.insert(name.normalized().to_vec()) {
                    unread.push(name);
                }
            }
        }
        Ok(below.into_iter().collect())
    }
}

impl Derive for NestedGroups {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.attributes
    }

    fn is_off_under_manage_dsa_it(&self) -> bool {
        true
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let Flags {
            member_filter,
            member_values,
            memberof_filter,
            memberof_values,
        } = self.flags;
        let (members, groups) = match wanted.purpose {
            Purpose::Match | Purpose::Compare => (member_filter, memberof_filter),
            Purpose::Show => (member_values, memberof_values),
        };
        if members && wanted.has(&self.member) {
            let nested = self.nested_members(entry, wanted.purpose)?;
            if !nested.is_empty() {
                found.add(&self.member, nested);
            }
        }
        if groups && wanted.has(&self.memberof) {
            let nested = self.nested_groups(entry, wanted.purpose)?;
            if !nested.is_empty() {
                found.add(&self.memberof, nested);
            }
        }
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
        _: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        if *attribute != self.member || !self.flags.member_filter {
            return Ok(None);
        }
        // Upwards: a member has few groups, a group may have many members.
        let mut found = RoaringTreemap::new();
        self.groups_above(&entry.look, normal, false, &mut found, &mut Vec::new())?;
        let is_above = found.contains(entry.record.id);
        if is_above && !Self::are_trusted(&entry.look, &found)? {
            return Ok(None);
        }
        Ok(Some(is_above))
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        // Who derives has values of its own.
        if item.is_presence() {
            return Ok(DerivedCandidates::nothing());
        }
        let (Some(asked), Some(names)) = (item.asked(), item.equalities(look.view)) else {
            return Ok(DerivedCandidates::Unknown);
        };
        if *asked == self.member {
            if !self.flags.member_filter && !item.is_chain() {
                return Ok(DerivedCandidates::nothing());
            }
            let mut found = RoaringTreemap::new();
            for name in names {
                self.groups_above(look, name, item.is_chain(), &mut found, &mut Vec::new())?;
            }
            return Ok(DerivedCandidates::Ids(found));
        }
        if *asked != self.memberof || item.is_chain() {
            return Ok(DerivedCandidates::Unknown);
        }
        if !self.flags.memberof_filter {
            return Ok(DerivedCandidates::nothing());
        }
        let mut groups = Vec::new();
        for name in names {
            groups.extend(self.groups_below(look, name)?);
        }
        look.may_have(&self.memberof, groups, item.most())
    }
}
