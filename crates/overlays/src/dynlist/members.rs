//! From groups to their members.

use ironbark_directory::overlay::DerivingLook;
use ironbark_model::{Dn, dn::name_and_uid};
use ironbark_store::{DerivedCandidates, EntryId, FilterItem, Record, StoreError};
use roaring::RoaringTreemap;

use super::{
    expand::{Expansion, for_each_name},
    groups::{IDS_PER_LINK, LINK_STEPS, located},
    lists::{Gives, Groups, Lists},
};
use crate::values::normal;

/// A value that names a member, and its normal form.
type Member = (Vec<u8>, Vec<u8>);

/// The groups among entries: a quick look before the record is read.
struct StaticGroups(DerivedCandidates);

impl StaticGroups {
    fn may_have(&self, id: EntryId) -> bool {
        match &self.0 {
            DerivedCandidates::Ids(ids) => ids.contains(id),
            _ => true,
        }
    }
}

impl Lists {
    fn static_groups(groups: Groups<'_>, look: &DerivingLook<'_>) -> Result<StaticGroups, StoreError> {
        Ok(StaticGroups(match &groups.map.static_class {
            Some(class) => look.view.may_match(class, u64::MAX)?,
            None => DerivedCandidates::nothing(),
        }))
    }

    fn is_group_by_id(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        statics: &StaticGroups,
        id: EntryId,
    ) -> Result<bool, StoreError> {
        if self.of(id, groups.number).is_some() {
            return Ok(true);
        }
        if !statics.may_have(id) {
            return Ok(false);
        }
        let record = look.view.record(id)?;
        Ok(record.is_some_and(|record| groups.map.is_static(&record)))
    }

    /// Adds the members of groups among the members of an entry, in slapd's order: of each group the stored ones, those
    /// that its URLs find, those of its groups.
    pub(super) fn add_nested_members(
        &self,
        groups: Groups<'_>,
        expansion: &mut Expansion<'_>,
    ) -> Result<(), StoreError> {
        let entry = expansion.entry;
        if groups.set.names().is_none() || !self.is_group(groups, &entry.record) {
            return Ok(());
        }
        let look = &entry.look;
        let statics = Self::static_groups(groups, look)?;
        let collected = expansion.collected(&groups.map.member)?;
        let own = self.members(groups, look, &entry.record, false)?;
        let mut seen = RoaringTreemap::new();
        let mut unread = self.groups_among(groups, look, &statics, &own)?;
        while let Some(id) = unread.pop() {
            if !seen.insert(id) || !look.view.spend(LINK_STEPS) {
                continue;
            }
            let Some(record) = look.view.record(id)? else { continue };
            let members = self.members(groups, look, &record, true)?;
            unread.extend(self.groups_among(groups, look, &statics, &members)?);
            for (name, normal) in members {
                if collected.known.insert(normal) {
                    collected.values.push(name);
                }
            }
        }
        Ok(())
    }

    /// The groups among members, the last ones first.
    fn groups_among(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        statics: &StaticGroups,
        members: &[Member],
    ) -> Result<Vec<EntryId>, StoreError> {
        let mut found = RoaringTreemap::new();
        for (name, _) in members {
            if !look.view.spend(LINK_STEPS) {
                break;
            }
            let Ok(dn) = Dn::parse(&self.sets.schema, name_and_uid::split(name).0) else {
                continue;
            };
            if let Some(id) = located(look, &dn)?
                && self.is_group_by_id(groups, look, statics, id)?
            {
                found.insert(id);
            }
        }
        let mut found: Vec<EntryId> = found.into_iter().collect();
        found.reverse();
        Ok(found)
    }

    /// The members of an entry, without those of its groups. `is_nested`: it is a member of a group, and who may name
    /// it there does not choose what may be seen of it.
    fn members(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        record: &Record<'_>,
        is_nested: bool,
    ) -> Result<Vec<Member>, StoreError> {
        let mut found = Vec::new();
        let member = &groups.map.member;
        if let Some(held) = record.values(member) {
            let mut values = held.to_attribute()?.values;
            if is_nested {
                values = look.readable_values(record, member, values);
            }
            for value in values {
                if !look.view.spend(1) {
                    return Ok(found);
                }
                let normal = normal(&self.sets.schema, member, &value);
                found.push((value, normal));
            }
        }
        let Some(list) = self.of(record.id, groups.number) else {
            return Ok(found);
        };
        if let Some(look) = list.look(*look) {
            for url in list.urls.iter().filter(|url| matches!(url.gives, Gives::Names)) {
                for_each_name(&look, url, &mut |name, normal| found.push((name, normal)))?;
            }
        }
        Ok(found)
    }

    /// The entries that may be members of groups, for a filter.
    pub(super) fn may_be_member(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        names: &[&[u8]],
        item: &FilterItem<'_>,
    ) -> Result<DerivedCandidates, StoreError> {
        let is_chain = item.is_chain();
        let goes_on = groups.map.is_nested || is_chain;
        let statics = Self::static_groups(groups, look)?;
        let (mut found, mut seen) = (RoaringTreemap::new(), RoaringTreemap::new());
        let mut unread: Vec<Vec<u8>> = names.iter().map(|name| name.to_vec()).collect();
        while let Some(name) = unread.pop() {
            let mut members = RoaringTreemap::new();
            if is_chain && let Some(memberof) = &groups.map.memberof {
                // A chain goes through stored values too.
                match look.view.holders(memberof, &name)? {
                    Some(stored) => members.extend(stored),
                    None => return Ok(DerivedCandidates::Unknown),
                }
            }
            let group = match Dn::parse(&self.sets.schema, &name) {
                Ok(dn) => look.find(&dn)?.filter(|group| seen.insert(group.id)),
                Err(_) => None,
            };
            if let Some(group) = group {
                match self.may_be_in(groups, look, &group, item.most())? {
                    DerivedCandidates::Ids(ids) => members |= ids,
                    other => return Ok(other),
                }
            }
            for id in members {
                if !look.view.spend(1) {
                    return Ok(DerivedCandidates::Ids(found));
                }
                let is_new = found.insert(id);
                if is_new && goes_on && (is_chain || self.is_group_by_id(groups, look, &statics, id)?) {
                    unread.push(look.view.dn(id)?.normalized().to_vec());
                }
            }
        }
        Ok(DerivedCandidates::Ids(found))
    }

    /// The entries that may be members of one group.
    fn may_be_in(
        &self,
        groups: Groups<'_>,
        look: &DerivingLook<'_>,
        group: &Record<'_>,
        most: u64,
    ) -> Result<DerivedCandidates, StoreError> {
        let mut may = DerivedCandidates::nothing();
        if let Some(list) = self.of(group.id, groups.number) {
            for search in list.memberships() {
                may = may.or(look.may_find(search, most)?);
            }
        }
        let Some(held) = group
            .values(&groups.map.member)
            .filter(|_| self.is_group(groups, group))
        else {
            return Ok(may);
        };
        if held.len() as u64 > most / IDS_PER_LINK {
            return Ok(DerivedCandidates::Unknown);
        }
        let mut ids = RoaringTreemap::new();
        for value in held.to_attribute()?.values {
            if !look.view.spend(LINK_STEPS) {
                break;
            }
            if let Ok(dn) = Dn::parse(&self.sets.schema, name_and_uid::split(&value).0) {
                ids.extend(located(look, &dn)?);
            }
        }
        Ok(may.or(DerivedCandidates::Ids(ids)))
    }
}
