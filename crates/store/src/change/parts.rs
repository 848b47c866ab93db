//! The changes of several entries in one record, told apart: which effect each request had, and the CSN of each effect.
//!
//! A write may change further entries as requests of their own would: each entry of a deleted subtree, a group of
//! automember. Such changes share time and server of the record's CSN, and their counts rise from its count in the
//! order of the effects. The record's cookie has the CSN of the last one.

use super::{ChangeRecord, Effect, RecordedEffect, RequestedChange, RequestedModification, ValueChange};
use crate::csn::Csn;

impl ChangeRecord {
    /// The requests with the numbers of their effects, in the order of execution; `None`: the effect is not known.
    /// [`RequestedChange::Former`] is a request without an effect here.
    pub fn requests(&self) -> impl Iterator<Item = (&RequestedChange, Option<usize>)> {
        let mut next = 0;
        self.requested.iter().map(move |requested| {
            let number = self.effect_of(requested, next);
            next = number.map_or(next, |number| number + 1);
            (requested, number)
        })
    }

    /// The effect of a request. Each request was noted before its effect was applied, so it is not before `next`.
    fn effect_of(&self, requested: &RequestedChange, next: usize) -> Option<usize> {
        let is_kind: fn(&Effect) -> bool = match requested {
            RequestedChange::AsApplied(number) => return (*number < self.effects.len()).then_some(*number),
            RequestedChange::Former { .. } => return None,
            RequestedChange::Add { .. } => |effect| matches!(effect, Effect::Add { .. }),
            RequestedChange::Modify { .. } => |effect| matches!(effect, Effect::Modify { .. }),
            RequestedChange::ModifyDn { .. } => |effect| matches!(effect, Effect::Rename { .. }),
            RequestedChange::Delete { .. } => |effect| matches!(effect, Effect::Delete { .. }),
        };
        let dn = requested.dn().unwrap_or_default();
        let numbered = self.effects.iter().enumerate().skip(next);
        let of_kind = || numbered.clone().filter(|(_, recorded)| is_kind(&recorded.effect));
        let of_name = || of_kind().filter(|(_, recorded)| recorded.effect.dn().eq_ignore_ascii_case(dn));
        let is_own = |(_, recorded): &(usize, &RecordedEffect)| !recorded.marks.internal;
        // The request may spell the name in another way than the entry has it. Overlays never do.
        let found = of_name().find(is_own).or_else(|| of_name().next());
        let found = found.map(|(number, _)| number);
        let found = match requested {
            RequestedChange::ModifyDn { .. } => found.or_else(|| self.remade()),
            _ => found,
        };
        let other = || of_kind().find(is_own).or_else(|| of_kind().next());
        found.or_else(|| other().map(|(number, _)| number))
    }

    /// The first entry that a replica has made anew instead of renaming it: the number of the effect that removed it.
    fn remade(&self) -> Option<usize> {
        (0..self.effects.len()).find(|number| self.made_anew(*number).is_some())
    }

    /// The name under which an entry was made anew that this effect has removed. A replica does so where a rename
    /// cannot be: the new name is below the entry.
    pub fn made_anew(&self, number: usize) -> Option<&str> {
        let removed = self.effects.get(number)?;
        if !matches!(removed.effect, Effect::Delete { .. }) || removed.before.entry_uuid == [0; 16] {
            return None;
        }
        let mut later = self.effects.iter().skip(number + 1);
        let added = later.find(|later| {
            matches!(later.effect, Effect::Add { .. }) && later.before.entry_uuid == removed.before.entry_uuid
        });
        added.map(|added| added.effect.dn())
    }

    /// Whether an effect adds an entry that was there before the change, see [`Self::made_anew`].
    pub fn adds_anew(&self, number: usize) -> bool {
        let Some(added) = self.effects.get(number) else {
            return false;
        };
        let earlier = self.effects.iter().take(number);
        let is_same = |removed: &RecordedEffect| {
            matches!(removed.effect, Effect::Delete { .. }) && removed.before.entry_uuid == added.before.entry_uuid
        };
        matches!(added.effect, Effect::Add { .. })
            && added.before.entry_uuid != [0; 16]
            && earlier.into_iter().any(is_same)
    }

    /// What a rename, the effect of this number, has changed besides the values of RDNs, which follow from its request.
    /// A refresh may bring other changes with it, and leaves values of the old RDN (`leaves_old`) unless they say
    /// otherwise.
    pub fn changed_with_rename(&self, number: usize, leaves_old: bool) -> Vec<RequestedModification> {
        let is_replace = |change: &&ValueChange| matches!(change, ValueChange::Replace { .. });
        let Some(recorded) = self.effects.get(number) else {
            return Vec::new();
        };
        let is_all = self.via != 0 && leaves_old;
        if let Effect::Rename { changes, .. } = &recorded.effect {
            let told = changes.iter().filter(|change| is_all || is_replace(change));
            return told.map(Into::into).collect();
        }
        // Before an entry is made anew, it is changed where it is.
        let is_its = |earlier: &&RecordedEffect| earlier.before.entry_uuid == recorded.before.entry_uuid;
        let earlier = self.effects.iter().take(number).filter(is_its);
        let changes = earlier.filter_map(|earlier| match &earlier.effect {
            Effect::Modify { changes, .. } => Some(changes),
            _ => None,
        });
        let told = changes.flatten().filter(|change| is_all || is_replace(change));
        told.map(Into::into).collect()
    }

    /// The effects with their CSNs. Those that follow from others have that of one before them.
    pub fn stamped_effects(&self) -> impl Iterator<Item = (&RecordedEffect, Csn)> {
        let last = self.last_csn();
        let mut further = 0;
        self.effects.iter().map(move |recorded| {
            if last == self.csn {
                return (recorded, last);
            }
            let of_entry = recorded.effect.entry_csn().filter(|csn| csn.is_of_write(self.csn));
            further += u32::from(!recorded.marks.internal);
            let csn = of_entry.unwrap_or_else(|| self.csn.following(further.saturating_sub(1)));
            (recorded, csn.min(last))
        })
    }

    /// The CSN of the last change that is one by itself.
    pub fn last_csn(&self) -> Csn {
        let further = self.cookie.iter().copied().filter(|csn| csn.is_of_write(self.csn));
        further.fold(self.csn, Csn::max)
    }

    /// The CSN of one effect.
    pub fn effect_csn(&self, number: usize) -> Csn {
        self.stamped_effects().nth(number).map_or(self.csn, |(_, csn)| csn)
    }

    /// The entries that got a tombstone without an effect, with the CSNs of these changes.
    pub fn stamped_burials(&self) -> impl Iterator<Item = ([u8; 16], Csn)> {
        let last = self.last_csn();
        let own = self.effects.iter().filter(|recorded| !recorded.marks.internal).count();
        self.buried.iter().enumerate().map(move |(number, uuid)| {
            let further = u32::try_from(own + number).unwrap_or(u32::MAX);
            (*uuid, self.csn.following(further).min(last))
        })
    }
}

impl Effect {
    /// The `entryCSN` that it gives to its entry.
    fn entry_csn(&self) -> Option<Csn> {
        let is_it = |name: &str| name.eq_ignore_ascii_case("entryCSN");
        let value = match self {
            Self::Add { attributes, .. } => attributes.iter().find(|(name, _)| is_it(name))?.1.first(),
            Self::Modify { changes, .. } | Self::Rename { changes, .. } => {
                let last = changes.iter().rfind(|change| is_it(change.attribute()))?;
                last.values().first()
            }
            Self::Delete { .. } => None,
        };
        Csn::parse(value?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Marks, ValueChange};

    const CSN: &str = "20260101000000.000001Z#000000#001#000000";

    fn modify(dn: &str, csn: Option<Csn>) -> RecordedEffect {
        let values = csn.map(|csn| csn.text().into_bytes());
        let attribute = if csn.is_some() { "entryCSN" } else { "memberOf" };
        let change = ValueChange::Replace {
            attribute: attribute.into(),
            values: values.into_iter().collect(),
        };
        let mut recorded = RecordedEffect::from(Effect::Modify {
            dn: dn.into(),
            changes: vec![change],
        });
        recorded.marks = Marks {
            internal: csn.is_none(),
            silent: false,
        };
        recorded
    }

    fn request(dn: &str) -> RequestedChange {
        RequestedChange::Modify {
            dn: dn.into(),
            modifications: Vec::new(),
        }
    }

    fn csn(number: u32) -> Csn {
        Csn::parse(CSN.as_bytes()).unwrap().following(number)
    }

    #[test]
    fn each_request_has_its_own_effect_however_it_spells_the_name() {
        let record = ChangeRecord {
            effects: vec![
                modify("cn=a\\,b", Some(csn(0))),
                modify("cn=c", None),
                modify("cn=a\\,b", None),
                modify("cn=g", Some(csn(1))),
            ],
            requested: vec![
                request("cn=a\\2cb"),
                request("cn=c"),
                request("CN=A\\,b"),
                request("cn=g"),
            ],
            ..ChangeRecord::default()
        };
        let numbers: Vec<_> = record.requests().map(|(_, number)| number).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn an_entry_that_was_made_anew_is_a_rename_and_no_delete_and_add() {
        let effect = |effect: Effect, uuid: u8| {
            let mut recorded = RecordedEffect::from(effect);
            recorded.before.entry_uuid = [uuid; 16];
            recorded
        };
        let delete = |dn: &str, uuid| effect(Effect::Delete { dn: dn.into() }, uuid);
        let add = |dn: &str, uuid| {
            let (dn, attributes) = (dn.into(), Vec::new());
            effect(Effect::Add { dn, attributes }, uuid)
        };
        let record = ChangeRecord {
            // Another entry gave way, and went.
            effects: vec![
                delete("cn=b", 1),
                delete("cn=x,cn=b", 2),
                add("cn=b", 2),
                add("cn=c", 3),
            ],
            requested: vec![RequestedChange::ModifyDn {
                dn: "cn=x,cn=a".into(),
                new_rdn: "cn=b".into(),
                delete_old_rdn: true,
                new_superior: Some("".into()),
            }],
            ..ChangeRecord::default()
        };
        assert_eq!(record.requests().next().unwrap().1, Some(1));
        let anew: Vec<_> = (0..4).map(|number| record.made_anew(number)).collect();
        assert_eq!(anew, [None, Some("cn=b"), None, None]);
        let adds: Vec<_> = (0..4).map(|number| record.adds_anew(number)).collect();
        assert_eq!(adds, [false, false, true, false]);
    }

    #[test]
    fn tombstones_without_an_effect_have_csns_of_their_own_too() {
        let record = ChangeRecord {
            csn: csn(0),
            buried: vec![[1; 16], [2; 16], [3; 16]],
            cookie: vec![csn(2)],
            ..ChangeRecord::default()
        };
        let burials: Vec<_> = record.stamped_burials().collect();
        assert_eq!(burials, [([1; 16], csn(0)), ([2; 16], csn(1)), ([3; 16], csn(2))]);
    }

    #[test]
    fn further_changes_have_csns_of_their_own() {
        let delete = |dn: &str| RecordedEffect::from(Effect::Delete { dn: dn.into() });
        let record = ChangeRecord {
            csn: csn(0),
            effects: vec![
                delete("cn=a"),
                modify("cn=m", None),
                delete("cn=b"),
                modify("cn=g", Some(csn(2))),
            ],
            cookie: vec![csn(2)],
            ..ChangeRecord::default()
        };
        assert_eq!(
            [0, 2, 3].map(|number| record.effect_csn(number)),
            [csn(0), csn(1), csn(2)]
        );
        // Records of former versions, and those of other servers' changes.
        let former = ChangeRecord {
            cookie: Vec::new(),
            ..record
        };
        assert_eq!([0, 2, 3].map(|number| former.effect_csn(number)), [csn(0); 3]);
    }
}
