//! Executing a logged change in the transaction.

use std::collections::HashSet;

use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Csn, Effect, EntryId, Location, Record, StoreError, change::RequestedChange};

use super::{
    age::{Age, ComparedChange, Standing},
    merge::{Merged, merge},
    read::{ReadLogged, ReadOperation, ReadRename},
    structural,
};
use crate::{
    OperationError,
    backend::conflicts::ConflictKind,
    edit::{
        apply::{Before, apply_own},
        checks,
        plan::{Plan, plan_replicated},
    },
    overlay::{Execution, overlays_of},
    place,
    refusal::ReplicaRefusal,
    replica::{
        apply::{change_values, csn_of, own_csn, renamed},
        conflict::{self, Claim},
        delete,
        find::find,
        incoming::{OutcomeKind, ReplicaOutcome, Replicated},
        log_place::LogStep,
        place::{Aftermath, Told},
        placing::{self, Moves, Wanted, Way},
    },
    request::{
        modification::{Modification, ModificationKind},
        requested_change::of_modifications,
    },
};

/// Executes a change of a provider's log.
///
/// # Errors
/// `e-syncRefreshRequired`: the entry is not here, and was not deleted here. The storage failed, or an overlay refused.
pub(in crate::replica) fn run(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    logged: &ReadLogged,
    standing: Standing,
    aftermath: &mut Aftermath,
) -> Result<ReplicaOutcome, OperationError> {
    let csn = match change.csn {
        Some(csn) => csn,
        None if change.mapping.own_csns => own_csn(execution),
        None => {
            let name = logged.dn.pretty().to_owned();
            return Err(ReplicaRefusal::NoCsn { name }.into());
        }
    };
    let Some(id) = logged.locate(execution)? else {
        return logged.missing(execution, change);
    };
    let (uuid, held) = {
        let view = execution.view();
        let record = checks::record_of(view, id)?;
        if !change.mapping.holds(&view.dn(id)?) {
            return Ok(OutcomeKind::Same.into());
        }
        (record.entry_uuid()?.unwrap_or_default(), csn_of(execution, &record)?)
    };
    logged.refuse_uuid_of_other(execution, id)?;
    // A revision is as old as the change that it revises.
    let told = csn;
    let csn = match &logged.operation {
        ReadOperation::Settle(revision, _) => *revision,
        _ => csn,
    };
    let compared = ComparedChange {
        logged,
        standing,
        uuid,
        held,
        csn,
        told,
    };
    let age = match Age::of(execution, change, &compared)? {
        Ok(age) => age,
        Err(nothing) => return Ok(nothing.of(id)),
    };
    let applied = Logged {
        change,
        read: logged,
        csn,
        id,
        uuid,
        age,
    };
    let before = execution.record().effects.len();
    let outcome = match &logged.operation {
        // A name may have been used again since.
        ReadOperation::Delete if logged.uuid.is_none() && held > Some(csn) => Ok(OutcomeKind::Older.of(id)),
        ReadOperation::Delete => delete::run(execution, change, uuid, aftermath),
        ReadOperation::Modify(modifications) => applied.modify(execution, modifications),
        ReadOperation::Rename(rename) => applied.rename(execution, rename, aftermath),
        ReadOperation::Revise(modifications) => applied.revise(execution, modifications, aftermath),
        ReadOperation::Settle(revision, told) => applied.settle(execution, *revision, told, aftermath),
    }?;
    if let Some(base) = &logged.base {
        execution.keep_base_of(before, uuid, base);
    }
    Ok(outcome)
}

impl ReadLogged {
    fn locate(&self, execution: &Execution<'_, '_>) -> Result<Option<EntryId>, OperationError> {
        if let Some(uuid) = self.uuid {
            return find(execution, uuid);
        }
        Ok(match execution.view().locate(&self.dn)? {
            Location::Entry(id) if !checks::record_of(execution.view(), id)?.is_glue() => Some(id),
            _ => None,
        })
    }

    /// Entries are found by their entryUUID: no change gives an entry that of another one.
    fn refuse_uuid_of_other(&self, execution: &Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
        let known = &execution.configuration.well_known.entry_uuid;
        let modifications = match &self.operation {
            ReadOperation::Modify(modifications) | ReadOperation::Revise(modifications) => modifications.as_slice(),
            ReadOperation::Rename(rename) => &rename.modifications,
            ReadOperation::Delete | ReadOperation::Settle(..) => &[],
        };
        let given = modifications
            .iter()
            .filter(|one| one.description == *known && one.kind != ModificationKind::Delete)
            .flat_map(|one| &one.normalized);
        for uuid in given {
            let Ok(uuid) = uuid.as_slice().try_into() else { continue };
            if let Some(other) = find(execution, uuid)?.filter(|other| *other != id) {
                let name = self.dn.pretty().to_owned();
                let other = execution.view().dn(other)?.pretty().to_owned();
                return Err(ReplicaRefusal::TakenUuid { name, other }.into());
            }
        }
        Ok(())
    }

    /// The entry is not here.
    fn missing(
        &self,
        execution: &mut Execution<'_, '_>,
        change: &Replicated,
    ) -> Result<ReplicaOutcome, OperationError> {
        let is_delete = matches!(self.operation, ReadOperation::Delete);
        if let Some(uuid) = self.uuid {
            let deleted = execution.view().tombstone(&uuid)?;
            if is_delete {
                // A log with numbers is in order: nobody has a change of it that could bring the entry back.
                let is_late = !change.mapping.own_csns;
                if is_late && deleted.is_none_or(|(known, _)| change.csn.is_some_and(|csn| known < csn)) {
                    execution.bury(uuid);
                }
                return Ok(OutcomeKind::Same.into());
            }
            // The delete is final, and whoever has the change is told of it by the log.
            if let Some((deleted, _)) = deleted {
                if change.mapping.multi_provider {
                    conflict::note_deleted(execution, self.dn.pretty(), uuid, Some(deleted), change.csn);
                }
                return Ok(OutcomeKind::Tombstoned.into());
            }
        }
        if is_delete || change.step.as_ref().is_some_and(LogStep::may_miss_entry) {
            return Ok(OutcomeKind::Same.into());
        }
        let name = self.dn.pretty().to_owned();
        Err(ReplicaRefusal::Gap { name }.into())
    }
}

/// The place that a change gives to its entry.
struct Placed<'a> {
    to: &'a Dn,
    /// The place at the provider, if it must be the same here.
    told: Option<&'a Told>,
    /// The place as far as it says what the provider knows: whether another entry may keep the name.
    claims: Option<&'a Told>,
    /// What was asked for; `None`: the effect says it.
    requested: Option<RequestedChange>,
    /// The CSN, if it is a revision.
    revision: Option<Csn>,
}

impl Placed<'_> {
    /// Notes the request of the next effect.
    fn note(&self, execution: &mut Execution<'_, '_>) {
        match &self.requested {
            Some(requested) => execution.note_requested(|_| requested.clone()),
            None => execution.note_next_effect(),
        }
    }

    /// Keeps with an effect, by its number, that it is a revision.
    fn keep(&self, execution: &mut Execution<'_, '_>, number: usize, id: EntryId) -> Result<(), OperationError> {
        match self.revision {
            Some(revision) => execution.keep_revision(number, id, revision),
            None => Ok(()),
        }
    }
}

/// A change of an entry that is here.
struct Logged<'a> {
    change: &'a Replicated,
    read: &'a ReadLogged,
    csn: Csn,
    id: EntryId,
    uuid: [u8; 16],
    age: Age,
}

impl Logged<'_> {
    fn modify(
        &self,
        execution: &mut Execution<'_, '_>,
        modifications: &[Modification],
    ) -> Result<ReplicaOutcome, OperationError> {
        let plan = self.plan(execution, modifications)?;
        let name = execution.view().dn(self.id)?;
        // Its own followers must decide as this server did.
        execution.note_requested(|execution| of_modifications(execution.schema(), name.pretty(), modifications));
        change_values(execution, &name, plan.changes, &plan.before)?;
        Ok(OutcomeKind::Modified.of(self.id))
    }

    fn moves(&self) -> bool {
        matches!(&self.read.operation, ReadOperation::Rename(rename) if rename.new_superior.is_some())
    }

    /// Whether the entry gets the CSN of the change also if the change does not say so. A modify that says nothing of
    /// it, as the refresh of a dynamic entry, has left `entryCSN` at the provider.
    fn must_stamp(&self) -> bool {
        self.change.mapping.own_csns || !matches!(self.read.operation, ReadOperation::Modify(_))
    }

    /// The changes of values.
    fn plan(&self, execution: &mut Execution<'_, '_>, modifications: &[Modification]) -> Result<Plan, OperationError> {
        let (configuration, schema) = (execution.configuration, execution.schema());
        let overlays = overlays_of(execution.context);
        let mut wanted: Vec<Modification> = modifications.to_vec();
        if let Age::Older(held, newer) = &self.age {
            let name = execution.view().dn(self.id)?;
            if !newer.is_complete {
                tracing::info!(
                    target: "sync",
                    "\"{}\": {} is older than what the log tells of the entry; it is taken in as far as known",
                    name.pretty(), self.csn.text()
                );
            }
            let known = &configuration.well_known;
            let stamps = [&known.entry_csn, &known.modifiers_name, &known.modify_timestamp];
            wanted.retain(|modification| !stamps.contains(&&modification.description));
            let merged = if newer.is_contained {
                Merged::default()
            } else {
                merge(schema, &wanted, &newer.modifications)
            };
            let is_rename_lost = matches!(self.read.operation, ReadOperation::Rename(_)) && newer.is_renamed;
            let is_lost = merged.is_lossy || is_rename_lost || newer.is_moved && self.moves();
            if is_lost && !newer.is_contained {
                let side = |csn| Claim {
                    csn: Some(csn),
                    uuid: self.uuid,
                };
                conflict::note(
                    execution,
                    ConflictKind::Values,
                    name.pretty(),
                    side(*held),
                    side(self.csn),
                );
            }
            wanted = merged.left;
            // The log must tell of the change even if nothing is left of it: others may come that are older still.
            wanted.push(of_csn(execution, *held));
        } else if let Age::Whole(csn, own) = &self.age {
            let known = &configuration.well_known.entry_csn;
            wanted.retain(|modification| {
                modification.description != *known && !own.attributes.contains(&modification.description)
            });
            wanted.push(of_csn(execution, *csn));
        } else if self.must_stamp()
            && !wanted
                .iter()
                .any(|modification| modification.description == configuration.well_known.entry_csn)
        {
            wanted.push(of_csn(execution, self.csn));
        }
        wanted.retain(|modification| !overlays.maintained.contains(&modification.description));
        let record = checks::record_of(execution.view(), self.id)?;
        let mut plan = plan_replicated(schema, &record, &wanted, &overlays.watched)?;
        if self.change.mapping.own_csns {
            plan.changes
                .extend(structural::change(execution, &record, &plan.changes)?);
        }
        Ok(plan)
    }

    fn rename(
        &self,
        execution: &mut Execution<'_, '_>,
        rename: &ReadRename,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let plan = self.plan(execution, &rename.modifications)?;
        let (is_renamed, is_moved) = match &self.age {
            Age::Newer => (false, false),
            Age::Older(_, newer) => (newer.is_renamed, newer.is_moved),
            Age::Whole(_, own) => (own.is_renamed, own.is_moved),
        };
        let current = execution.view().dn(self.id)?;
        let superior = rename.new_superior.clone().filter(|_| !is_moved);
        // A rename that names no superior says nothing of the place.
        let place = rename.place.as_ref().filter(|_| superior.is_some());
        let superior = match place {
            Some((name, told)) => self.name_here(execution, name, Some(told))?.parent(),
            None => superior.or_else(|| current.parent()),
        };
        let told = place.map(|(_, told)| told);
        let leaf = current.leaf().filter(|_| is_renamed);
        let leaf = leaf.as_ref().unwrap_or(&rename.new_rdn);
        let to = superior.unwrap_or_default().child(leaf);
        let placed = Placed {
            to: &to,
            told,
            claims: rename.place.as_ref().map(|(_, told)| told),
            requested: Some(self.requested(rename)),
            revision: None,
        };
        self.place(execution, &placed, plan, aftermath)
    }

    /// The name here for an entry that has this one at the provider. Of two entries that have moved below each other
    /// neither can: the entry keeps its superior.
    fn name_here(&self, execution: &Execution<'_, '_>, name: &Dn, told: Option<&Told>) -> Result<Dn, OperationError> {
        let Some(told) = told else {
            return Ok(name.clone());
        };
        let to = told.name_here(execution, name)?;
        let current = execution.view().dn(self.id)?;
        Ok(if told.is_cycle(execution, &current, &to)? {
            let leaf = to.leaf().unwrap_or_default();
            current.parent().unwrap_or_default().child(&leaf)
        } else {
            to
        })
    }

    /// The entry has another place without a change of its own.
    fn settle(
        &self,
        execution: &mut Execution<'_, '_>,
        revision: Csn,
        told: &Told,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let (is_renamed, is_contained) = match &self.age {
            Age::Newer | Age::Whole(..) => (false, false),
            Age::Older(_, newer) if newer.is_moved && !newer.is_contained => {
                return Ok(OutcomeKind::Older.of(self.id));
            }
            Age::Older(_, newer) => (newer.is_renamed, newer.is_contained),
        };
        let told = Some(told).filter(|_| self.change.mapping.multi_provider && !is_contained);
        let current = execution.view().dn(self.id)?;
        let mut to = if is_contained {
            current.clone()
        } else {
            self.name_here(execution, &self.read.dn, told)?
        };
        // Only the name of an entry that is set aside comes with the place.
        let is_aside = place::is_aside(to.pretty(), self.uuid) || place::is_aside(current.pretty(), self.uuid);
        if let Some(leaf) = current.leaf().filter(|_| told.is_some() && (is_renamed || !is_aside)) {
            to = to.parent().unwrap_or_default().child(&leaf);
        }
        let record = checks::record_of(execution.view(), self.id)?;
        let csn = csn_of(execution, &record)?.unwrap_or(revision);
        let plan = plan_replicated(
            execution.schema(),
            &record,
            &[of_csn(execution, csn)],
            &overlays_of(execution.context).watched,
        )?;
        let placed = Placed {
            to: &to,
            told,
            claims: told,
            requested: None,
            revision: Some(revision),
        };
        self.place(execution, &placed, plan, aftermath)
    }

    /// Gives the entry a name and new values.
    fn place(
        &self,
        execution: &mut Execution<'_, '_>,
        placed: &Placed<'_>,
        plan: Plan,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let &Placed { to, told, claims, .. } = placed;
        let mapping = &self.change.mapping;
        let mut moves = Moves::new(mapping, to, claims.is_some());
        let wanted = Wanted {
            mapping,
            name: to,
            place: claims,
            claim: Claim {
                csn: Some(self.csn),
                uuid: self.uuid,
            },
            own: Some(self.id),
        };
        let way = placing::prepare(execution, &mut moves, wanted, aftermath)?;
        let outcome = match way {
            Way::Lost => {
                let told = claims.is_some().then_some(&mut *aftermath);
                conflict::drop_entry(execution, self.id, told)?;
                OutcomeKind::Lost.into()
            }
            Way::Rebuild => {
                placed.note(execution);
                let current = execution.view().dn(self.id)?;
                let number = execution.record().effects.len();
                change_values(execution, &current, plan.changes, &plan.before)?;
                let attributes = placing::stored_attributes(execution, self.id)?;
                let id = moves.rebuild(execution, self.id, to, attributes, 0)?;
                placed.keep(execution, number, id)?;
                OutcomeKind::Renamed.of(id)
            }
            Way::Add | Way::Stay | Way::Rename => {
                // Who gave way may have been above it.
                let current = execution.view().dn(self.id)?;
                placed.note(execution);
                let number = execution.record().effects.len();
                let effect = Effect::Rename {
                    dn: current.pretty().into(),
                    new_dn: to.pretty().into(),
                    changes: plan.changes,
                };
                let before = Before {
                    attributes: &plan.before,
                    deleted_tree: None,
                };
                apply_own(execution, ChangeKind::ModifyDn, effect, before)?;
                placed.keep(execution, number, self.id)?;
                OutcomeKind::Renamed.of(self.id)
            }
        };
        if let (Some(told), Some(id)) = (told, outcome.id)
            && !told.is_place_of(execution, id)?
        {
            aftermath.moved.push(self.uuid);
        }
        aftermath.append(moves.told.unwrap_or_default());
        Ok(ReplicaOutcome {
            remade: moves.remade,
            ..outcome
        })
    }

    /// The entry is to be as the provider has it now.
    fn revise(
        &self,
        execution: &mut Execution<'_, '_>,
        modifications: &[Modification],
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let to = &self.read.dn;
        let (current, news) = {
            let view = execution.view();
            let record = checks::record_of(view, self.id)?;
            let mut news = Vec::with_capacity(modifications.len());
            for modification in modifications {
                let modification = without_repeats(modification);
                if !is_made(&record, &modification)? {
                    news.push(modification);
                }
            }
            (view.dn(self.id)?, news)
        };
        let is_renamed = current != *to || current.rdn(0) != to.rdn(0);
        match (is_renamed, news.is_empty()) {
            (false, true) => Ok(OutcomeKind::Same.of(self.id)),
            (false, false) => self.modify(execution, &news),
            (true, _) => {
                let plan = self.plan(execution, &news)?;
                let placed = Placed {
                    to,
                    told: None,
                    claims: None,
                    requested: Some(renamed(&current, to, true)),
                    revision: None,
                };
                self.place(execution, &placed, plan, aftermath)
            }
        }
    }

    /// The request as it was made: followers take the old RDN from it.
    fn requested(&self, rename: &ReadRename) -> RequestedChange {
        RequestedChange::ModifyDn {
            dn: self.read.dn.pretty().into(),
            new_rdn: rename.new_rdn.pretty().into(),
            delete_old_rdn: rename.delete_old_rdn,
            new_superior: rename.new_superior.as_ref().map(|superior| superior.pretty().into()),
        }
    }
}

/// The modification without values that are equal here. The provider's schema may tell them apart.
fn without_repeats(modification: &Modification) -> Modification {
    let mut seen = HashSet::new();
    let pairs = modification.values.iter().zip(&modification.normalized);
    let (values, normalized) = pairs
        .filter(|(_, normal)| seen.insert(*normal))
        .map(|(value, normal)| (value.clone(), normal.clone()))
        .unzip();
    Modification {
        values,
        normalized,
        ..modification.clone()
    }
}

/// Whether a modification would change nothing: the provider may send what it has sent before.
fn is_made(record: &Record<'_>, modification: &Modification) -> Result<bool, StoreError> {
    let Some(held) = record.values(&modification.description) else {
        return Ok(match modification.kind {
            ModificationKind::Delete => true,
            ModificationKind::Replace => modification.values.is_empty(),
            _ => false,
        });
    };
    let holds = |normal: &Vec<u8>| held.holds_normalized(normal);
    Ok(match modification.kind {
        ModificationKind::Delete if modification.values.is_empty() => false,
        ModificationKind::Delete => {
            let mut all = modification.normalized.iter();
            !all.try_fold(false, |any, normal| holds(normal).map(|here| any || here))?
        }
        ModificationKind::Add => {
            let mut all = modification.normalized.iter();
            all.try_fold(true, |every, normal| holds(normal).map(|here| every && here))?
        }
        _ => {
            let values = held.to_attribute()?.values;
            let wanted: HashSet<&[u8]> = modification.values.iter().map(Vec::as_slice).collect();
            values.len() == wanted.len() && values.iter().all(|value| wanted.contains(value.as_slice()))
        }
    })
}

fn of_csn(execution: &Execution<'_, '_>, csn: Csn) -> Modification {
    Modification::internal(
        execution.schema(),
        ModificationKind::Replace,
        &execution.configuration.well_known.entry_csn,
        vec![csn.text().into_bytes()],
    )
}
