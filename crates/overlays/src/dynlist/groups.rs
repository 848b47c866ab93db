//! From members to their groups.

use ironbark_directory::overlay::{DerivingEntry, DerivingLook};
use ironbark_model::{AttributeDescription, CompiledFilter, Dn};
use ironbark_store::{DerivedCandidates, EntryId, FilterItem, Location, Record, StoreError};
use roaring::RoaringTreemap;

use super::{
    expand::Expansion,
    lists::{Groups, List, Lists, slapd_order},
    sets::is_matched,
};

/// Steps for following one link.
pub(super) const LINK_STEPS: u64 = 30;
/// Following one costs as much as reading this many IDs of an index.
pub(super) const IDS_PER_LINK: u64 = 16;

/// By whose rights the URL of a group finds a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// Those of the client, which must also see that the group is one.
    Client,
    /// Those that the group says.
    Group,
}

/// An entry that has another one as a member.
struct Holder {
    id: EntryId,
    dn: Dn,
}

impl Lists {
    /// Adds the groups of an entry in slapd's order: each group is followed by those above it.
    pub(super) fn add_groups(
        &self,
        groups: Groups<'_>,
        memberof: &AttributeDescription,
        expansion: &mut Expansion<'_>,
    ) -> Result<(), StoreError> {
        let entry = expansion.entry;
        let is_group = self.is_group(groups, &entry.record);
        if is_group && !groups.map.is_nested {
            return Ok(());
        }
        let look = &entry.look;
        let mut direct = self.holders_of(groups, look, &entry.dn()?, Some(&entry.record), Rights::Client, None)?;
        if is_group {
            direct.sort_by_key(|holder| holder.id);
        } else {
            direct.sort_by_cached_key(|holder| slapd_order(&holder.dn));
        }
        let collected = expansion.collected(memberof)?;
        let mut seen = RoaringTreemap::new();
        direct.reverse();
        while let Some(holder) = direct.pop() {
            if !seen.insert(holder.id) {
                continue;
            }
            if collected.known.insert(holder.dn.normalized().to_vec()) {
                collected.values.push(holder.dn.pretty().as_bytes().to_vec());
            }
            if groups.map.is_nested {
                let record = look.view.record(holder.id)?;
                let mut above = self.holders_of(groups, look, &holder.dn, record.as_ref(), Rights::Client, None)?;
                above.sort_by_key(|holder| std::cmp::Reverse(holder.id));
                direct.extend(above);
            }
        }
        Ok(())
    }

    /// Whether an entry is a group, static or not.
    pub(super) fn is_group(&self, groups: Groups<'_>, record: &Record<'_>) -> bool {
        self.of(record.id, groups.number).is_some() || groups.map.is_static(record)
    }

    /// The groups that have a name as a member, without those above them. By the rights of groups, the members of any
    /// but `top`, which is asked about, must be readable.
    fn holders_of(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        dn: &Dn,
        record: Option<&Record<'_>>,
        rights: Rights,
        top: Option<EntryId>,
    ) -> Result<Vec<Holder>, StoreError> {
        let mut found = Vec::new();
        for list in self.of_set.get(groups.number).into_iter().flatten() {
            if !look.view.spend(1) {
                return Ok(found);
            }
            let is_member = match record {
                Some(record) => is_found(look, list, record, rights)?,
                None => false,
            };
            if is_member && is_seen(groups, look, list.id, rights)? {
                let (id, dn) = (list.id, list.dn.clone());
                found.push(Holder { id, dn });
            }
        }
        for id in self.stored_holders(groups, look, dn.normalized())? {
            let is_known = found.iter().any(|holder| holder.id == id);
            let Some(group) = look.view.record(id)?.filter(|_| !is_known) else {
                continue;
            };
            let Some(class) = self.class_of(groups, &group) else {
                continue;
            };
            let is_seen = match rights {
                Rights::Client => look.matches(&group, class),
                Rights::Group if top == Some(id) => true,
                Rights::Group => {
                    let (member, value) = (&groups.map.member, dn.pretty().as_bytes());
                    look.readable(&group, |readable| readable.has(member, Some(value))) == Some(true)
                }
            };
            if is_seen {
                let dn = look.view.dn(id)?;
                found.push(Holder { id, dn });
            }
        }
        Ok(found)
    }

    /// The class by which an entry is a group whose stored members count.
    fn class_of<'g>(&self, groups: Groups<'g>, record: &Record<'_>) -> Option<&'g CompiledFilter> {
        match self.of(record.id, groups.number) {
            Some(_) => Some(&groups.set.class),
            None => groups
                .map
                .static_class
                .as_ref()
                .filter(|class| is_matched(class, record)),
        }
    }

    /// The entries that store a name as a member, groups at least. Without an index on members the groups are looked
    /// at, as slapd does: no scan of the database for each entry.
    fn stored_holders(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        normal: &[u8],
    ) -> Result<Vec<EntryId>, StoreError> {
        let member = &groups.map.member;
        if let Some(found) = look.view.holders(member, normal)? {
            return Ok(found);
        }
        let lists = self.of_set.get(groups.number).into_iter().flatten();
        let mut all: RoaringTreemap = lists.filter(|list| list.stores_members).map(|list| list.id).collect();
        if let Some(class) = &groups.map.static_class {
            match look.view.may_match(class, u64::MAX)? {
                DerivedCandidates::Ids(ids) => all |= ids,
                _ => return look.holders(member, normal),
            }
        }
        let mut found = Vec::new();
        for id in all {
            if !look.view.spend(LINK_STEPS) {
                break;
            }
            let held = look.view.record(id)?.and_then(|group| group.values(member));
            if held.map(|held| held.holds_normalized(normal)).transpose()? == Some(true) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Whether an entry has a name as a member, or a group. `None`: that cannot be said quickly.
    pub(super) fn is_held(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
    ) -> Result<Option<bool>, StoreError> {
        let mut is_held = match entry.record.values(attribute) {
            Some(held) => held.holds_normalized(normal)?,
            None => false,
        };
        let look = &entry.look;
        for groups in self.groups() {
            if is_held {
                break;
            }
            if groups.map.memberof.as_ref() == Some(attribute) {
                is_held = self.is_in(groups, entry, normal)?;
                continue;
            }
            if groups.map.given != *attribute {
                continue;
            }
            if groups.set.gives_values() {
                match self.of(entry.record.id, groups.number) {
                    Some(_) => return Ok(None),
                    None => continue,
                }
            }
            let Ok(dn) = Dn::parse(&self.sets.schema, normal) else {
                continue;
            };
            let Some(member) = look.find(&dn)? else {
                // Entries of other databases may be members too.
                if self.of(entry.record.id, groups.number).is_some() || groups.map.is_nested {
                    return Ok(None);
                }
                continue;
            };
            if let Some(list) = self.of(entry.record.id, groups.number) {
                is_held = is_found(look, list, &member, Rights::Group)?;
            }
            if !is_held && groups.map.is_nested && self.is_group(groups, &entry.record) {
                is_held = self.is_above(groups, look, entry.record.id, &dn, &member, Rights::Group)?;
            }
        }
        Ok(Some(is_held))
    }

    /// Whether an entry gets the name of a group, given by its normal form.
    fn is_in(&self, groups: Groups<'_>, entry: &DerivingEntry<'_>, normal: &[u8]) -> Result<bool, StoreError> {
        let look = &entry.look;
        let id = match self.by_name.get(normal) {
            Some(id) => Some(*id),
            None => match Dn::parse(&self.sets.schema, normal) {
                Ok(dn) => located(look, &dn)?,
                Err(_) => None,
            },
        };
        let Some(id) = id else { return Ok(false) };
        let record = &entry.record;
        let is_group = self.is_group(groups, record);
        if is_group && !groups.map.is_nested {
            return Ok(false);
        }
        if let Some(list) = self.of(id, groups.number)
            && is_found(look, list, record, Rights::Client)?
        {
            return is_seen(groups, look, id, Rights::Client);
        }
        let dn = entry.dn()?;
        // Stored members, and groups of groups.
        if groups.map.is_nested {
            return self.is_above(groups, look, id, &dn, record, Rights::Client);
        }
        let Some(group) = look.view.record(id)? else {
            return Ok(false);
        };
        let holds = match group.values(&groups.map.member) {
            Some(members) => members.holds_normalized(dn.normalized())?,
            None => false,
        };
        let class = self.class_of(groups, &group).filter(|_| holds);
        Ok(class.is_some_and(|class| look.matches(&group, class)))
    }

    /// Whether a group is above an entry, through any number of groups.
    fn is_above(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        wanted: EntryId,
        dn: &Dn,
        record: &Record<'_>,
        rights: Rights,
    ) -> Result<bool, StoreError> {
        let mut seen = RoaringTreemap::from_iter([record.id]);
        let mut unread = self.holders_of(groups, look, dn, Some(record), rights, Some(wanted))?;
        while let Some(holder) = unread.pop() {
            if holder.id == wanted {
                return Ok(true);
            }
            if seen.insert(holder.id) && look.view.spend(LINK_STEPS) {
                let record = look.view.record(holder.id)?;
                unread.extend(self.holders_of(groups, look, &holder.dn, record.as_ref(), rights, Some(wanted))?);
            }
        }
        Ok(false)
    }

    /// The entries that may satisfy an item by a member that is derived.
    pub(super) fn may_hold_member(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        item: &FilterItem<'_>,
        names: Option<&[&[u8]]>,
    ) -> Result<DerivedCandidates, StoreError> {
        let lists = self.of_set.get(groups.number).into_iter().flatten();
        if groups.set.names().is_none() || item.is_presence() {
            return Ok(DerivedCandidates::Ids(lists.map(|list| list.id).collect()));
        }
        let Some(names) = names else {
            // The members of groups in static groups are derived too.
            let is_static = groups.map.is_nested && groups.map.static_class.is_some();
            return Ok(if is_static || item.is_chain() {
                DerivedCandidates::Unknown
            } else {
                DerivedCandidates::Ids(lists.map(|list| list.id).collect())
            });
        };
        let mut found = RoaringTreemap::new();
        let mut unread: Vec<Vec<u8>> = names.iter().map(|name| name.to_vec()).collect();
        let goes_on = groups.map.is_nested || item.is_chain();
        while let Some(name) = unread.pop() {
            let Ok(dn) = Dn::parse(&self.sets.schema, &name) else {
                continue;
            };
            let mut above = Vec::new();
            for list in self.of_set.get(groups.number).into_iter().flatten() {
                // Whether the filters match is seen entry by entry, with the right rights.
                if list.memberships().any(|search| search.is_in_scope(&dn)) {
                    above.push(list.id);
                }
            }
            if item.is_chain() {
                above.extend(look.holders(&groups.map.member, &name)?);
            } else if goes_on {
                above.extend(self.stored_holders(groups, look, &name)?);
            }
            for id in above {
                if !look.view.spend(1) {
                    return Ok(DerivedCandidates::Ids(found));
                }
                if found.insert(id) && goes_on {
                    unread.push(look.view.dn(id)?.normalized().to_vec());
                }
            }
        }
        Ok(DerivedCandidates::Ids(found))
    }
}

/// Whether a URL of a group finds an entry.
fn is_found(look: &DerivingLook<'_>, list: &List, record: &Record<'_>, rights: Rights) -> Result<bool, StoreError> {
    for search in list.memberships() {
        if !look.is_in_scope(search, record)? {
            continue;
        }
        let look = match rights {
            Rights::Client => Some(*look),
            Rights::Group => list.look(*look),
        };
        let Some(look) = look else { return Ok(false) };
        if look.is_found(search, record) {
            return Ok(look.readable(record, |_| ()).is_some());
        }
    }
    Ok(false)
}

/// Whether the client may see that a group is one.
fn is_seen(groups: Groups<'_>, look: &DerivingLook<'_>, id: EntryId, rights: Rights) -> Result<bool, StoreError> {
    if rights == Rights::Group || look.reads_everything() {
        return Ok(true);
    }
    let record = look.view.record(id)?;
    Ok(record.is_some_and(|record| look.matches(&record, &groups.set.class)))
}

/// The entry with a name in the database.
pub(super) fn located(look: &DerivingLook<'_>, dn: &Dn) -> Result<Option<EntryId>, StoreError> {
    Ok(match look.view.locate(dn)? {
        Location::Entry(id) => Some(id),
        Location::Missing { .. } => None,
    })
}
