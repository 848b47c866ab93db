//! `memberof-computed`: memberOf as the groups say it, derived and not stored.

use std::sync::Arc;

use ironbark_directory::overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Reads};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, Location, Purpose, Record, StoreError, Wanted};
use roaring::RoaringTreemap;

use super::Memberof;

/// Derives it.
#[derive(Clone)]
pub(super) struct Groups(Arc<Memberof>);

/// Steps for following one member.
const LINK_STEPS: u64 = 30;
/// Following one costs as much as reading this many IDs of an index.
const IDS_PER_LINK: u64 = 16;

impl Groups {
    pub(super) fn new(memberof: Arc<Memberof>) -> Self {
        Self(memberof)
    }

    fn is_group(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        let classes = match record.values(&self.0.object_class) {
            Some(held) => held.to_attribute()?.values,
            None => Vec::new(),
        };
        Ok(self.0.is_group(&classes))
    }

    /// The group with a name, given by its normal form.
    fn group<'a>(&self, look: &DerivingLook<'a>, normal: &[u8]) -> Result<Option<(Dn, Record<'a>)>, StoreError> {
        let Ok(dn) = Dn::parse(&self.0.schema, normal) else {
            return Ok(None);
        };
        match look.find(&dn)? {
            Some(record) if self.is_group(&record)? => Ok(Some((dn, record))),
            _ => Ok(None),
        }
    }

    /// The members of a group, and in a chain those of its groups. `None`: there are more than the item is worth.
    fn members(
        &self,
        look: &DerivingLook<'_>,
        normal: &[u8],
        item: &FilterItem<'_>,
    ) -> Result<Option<RoaringTreemap>, StoreError> {
        let (mut found, mut seen) = (RoaringTreemap::new(), RoaringTreemap::new());
        let all = item.is_chain();
        let most = item.most() / IDS_PER_LINK;
        let mut groups: Vec<Record<'_>> = self
            .group(look, normal)?
            .map(|(_, record)| record)
            .into_iter()
            .collect();
        while let Some(group) = groups.pop() {
            if !seen.insert(group.id) {
                continue;
            }
            let Some(members) = group.values(&self.0.member) else {
                continue;
            };
            if found.len() + members.len() as u64 > most {
                return Ok(None);
            }
            for value in members.to_attribute()?.values {
                if !look.view.spend(LINK_STEPS) {
                    return Ok(Some(found));
                }
                let Some(name) = self.0.name_in(&value) else { continue };
                let Location::Entry(id) = look.view.locate(&name)? else {
                    continue;
                };
                if found.insert(id)
                    && all
                    && let Some(record) = look.view.record(id)?
                    && self.is_group(&record)?
                {
                    groups.push(record);
                }
            }
        }
        Ok(Some(found))
    }
}

impl Derivation for Groups {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Derive for Groups {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.0.reverse)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let dn = entry.dn()?;
        let mut names = Vec::new();
        for id in entry.look.holders(&self.0.member, dn.normalized())? {
            if let Some(group) = entry.look.view.record(id)?
                && self.is_group(&group)?
            {
                let mut name = Vec::new();
                entry.look.view.pretty_dn(id, &mut name)?;
                names.push(name);
            }
        }
        found.replace(&self.0.reverse, names);
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        _: &AttributeDescription,
        normal: &[u8],
        _: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        let Some((_, group)) = self.group(&entry.look, normal)? else {
            return Ok(Some(false));
        };
        let dn = entry.dn()?;
        match group.values(&self.0.member) {
            Some(members) => Ok(Some(members.holds_normalized(dn.normalized())?)),
            None => Ok(Some(false)),
        }
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(groups) = item.equalities(look.view) else {
            return Ok(DerivedCandidates::Unknown);
        };
        let mut found = RoaringTreemap::new();
        for group in groups {
            match self.members(look, group, item)? {
                Some(members) => found |= members,
                None => return Ok(DerivedCandidates::Unknown),
            }
        }
        Ok(DerivedCandidates::Ids(found))
    }
}
