//! An entry as a whole, where values are merged: its recent changes were made here before. What differs still is older
//! than the logs reach back, or was changed here, and the provider has not heard of it.

use ironbark_model::Dn;
use ironbark_store::{EntryId, Record, StoreError};

use super::{
    apply::{Arriving, csn_of},
    difference::Provided,
    incoming::{OutcomeKind, ReplicaOutcome},
    own::Own,
    place::Aftermath,
    read::{ReadAttribute, ReadEntry, ReadRecent},
};
use crate::{
    OperationError, edit::checks, overlay::Execution, place, refusal::ReplicaRefusal,
    request::modification::normal_form,
};

impl Arriving<'_> {
    /// Makes the entry that is here the one that was sent, except for what was changed here and is not known there.
    pub(super) fn merge(
        &self,
        execution: &mut Execution<'_, '_>,
        id: EntryId,
        recent: &ReadRecent,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let name = execution.view().dn(id)?;
        if !self.change.mapping.holds(&name) {
            let (name, other) = (self.to.pretty().to_owned(), name.pretty().to_owned());
            return Err(ReplicaRefusal::OtherEntry { name, other }.into());
        }
        if self.is_here(execution, id, &name)? {
            return Ok(OutcomeKind::Same.of(id));
        }
        let own = Own::of(execution, self.change, self.entry.uuid, recent)?;
        let held = csn_of(execution, &checks::record_of(execution.view(), id)?)?;
        if own.had_more && held >= self.entry.csn {
            return Ok(OutcomeKind::Older.of(id));
        }
        let to = self.name_with_own(&name, &own);
        let entry = self.with_own(execution, id, &own)?;
        let merged = Arriving {
            change: self.change,
            entry: &entry,
            to: &to,
            is_late: self.is_late || own.is_moved || self.is_aside(),
            counts_by_content: true,
        };
        let before = execution.record().effects.len();
        let outcome = merged.update(execution, id, aftermath)?;
        execution.keep_base_of(before, self.entry.uuid, &recent.base());
        Ok(outcome)
    }

    /// Whether the provider has set the entry aside. It expects a newer version, and a revision would say so.
    fn is_aside(&self) -> bool {
        place::is_aside(self.entry.dn.pretty(), self.entry.uuid)
    }

    /// The name that the entry gets: each part of it is the own one if it was given here.
    fn name_with_own(&self, name: &Dn, own: &Own) -> Dn {
        if self.is_aside() {
            return name.clone();
        }
        // Where the place is the own one, it does not matter who has the name at the provider's.
        let there = if own.is_moved { &self.entry.dn } else { self.to };
        let leaf = if own.is_renamed { name.leaf() } else { there.leaf() };
        let superior = if own.is_moved { name.parent() } else { self.to.parent() };
        superior.unwrap_or_default().child(&leaf.unwrap_or_default())
    }

    /// Whether the entry is here as it was sent, or newer by its CSN alone.
    fn is_here(&self, execution: &Execution<'_, '_>, id: EntryId, name: &Dn) -> Result<bool, OperationError> {
        let record = checks::record_of(execution.view(), id)?;
        let provided = Provided::of(execution, &self.change.mapping, self.entry);
        let mut changes = provided.changes(self.entry, &record)?;
        let csn_name = execution.name_of(&execution.configuration.well_known.entry_csn);
        if csn_of(execution, &record)? >= self.entry.csn {
            changes.retain(|change| change.attribute() != csn_name);
        }
        let is_same_name = self.is_aside() || name == self.to && name.rdn(0) == self.to.rdn(0);
        Ok(changes.is_empty() && is_same_name)
    }

    /// The entry with what was changed here.
    fn with_own(&self, execution: &Execution<'_, '_>, id: EntryId, own: &Own) -> Result<ReadEntry, OperationError> {
        let known = &execution.configuration.well_known;
        let record = checks::record_of(execution.view(), id)?;
        let held = csn_of(execution, &record)?;
        // Who has changed it last, and when, goes with the newest change.
        let is_newer = held > self.entry.csn;
        let stamps = [&known.entry_csn, &known.modifiers_name, &known.modify_timestamp];
        let is_own = |description| own.attributes.contains(description) && !stamps.contains(&description);
        let stays = |description| is_own(description) || is_newer && stamps.contains(&description);
        let sent = self.entry.attributes.iter().filter(|sent| !stays(&sent.description));
        let mut attributes: Vec<ReadAttribute> = sent.cloned().collect();
        for description in own.attributes.iter().filter(|own| !stamps.contains(own)) {
            attributes.extend(held_here(execution, &record, description)?);
        }
        if is_newer {
            for description in stamps {
                attributes.extend(held_here(execution, &record, description)?);
            }
        }
        Ok(ReadEntry {
            dn: self.entry.dn.clone(),
            uuid: self.entry.uuid,
            csn: self.entry.csn.max(held),
            place: self.entry.place.clone(),
            recent: None,
            attributes,
        })
    }
}

/// An attribute as it is here.
fn held_here(
    execution: &Execution<'_, '_>,
    record: &Record<'_>,
    description: &ironbark_model::AttributeDescription,
) -> Result<Option<ReadAttribute>, StoreError> {
    let Some(held) = record.values(description) else {
        return Ok(None);
    };
    let values = held.to_attribute()?.values;
    let schema = execution.schema();
    Ok(Some(ReadAttribute {
        description: description.clone(),
        normals: values
            .iter()
            .map(|value| normal_form(schema, description, value))
            .collect(),
        values,
    }))
}
