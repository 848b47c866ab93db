//! Executing a logged change in the transaction.

use std::collections::HashSet;

use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Csn, Effect, EntryId, Location, Record, StoreError, change::RequestedChange};

use super::{
    history::{Newer, newer_than},
    merge::merge,
    read::{ReadLogged, ReadOperation, ReadRename},
    structural,
};
use crate::{
    OperationError,
    backend::conflicts::ConflictKind,
    operation::{
        modify::{Plan, plan_replicated},
        write_checks,
    },
    overlay::{Before, Execution},
    refusal::ReplicaRefusal,
    replica::{
        apply::{csn_of, own_csn, renamed},
        conflict::{self, Claim},
        delete,
        find::find,
        incoming::{OutcomeKind, ReplicaOutcome, Replicated},
        log_place::LogStep,
        place::Aftermath,
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
        let record = write_checks::record_of(view, id)?;
        if !change.mapping.holds(&view.dn(id)?) {
            return Ok(OutcomeKind::Same.into());
        }
        (record.entry_uuid()?.unwrap_or_default(), csn_of(execution, &record)?)
    };
    let age = match held {
        Some(held) if held == csn => return Ok(OutcomeKind::Same.of(id)),
        // The entry of a single provider has all changes up to its own CSN.
        Some(held) if held > csn && !change.mapping.multi_provider => return Ok(OutcomeKind::Older.of(id)),
        Some(held) if held > csn => {
            execution.show_changes()?;
            match newer_than(execution.view(), execution.schema(), uuid, csn)? {
                Some(newer) => Age::Older(held, newer),
                None => return Ok(OutcomeKind::Same.of(id)),
            }
        }
        _ => Age::Newer,
    };
    let applied = Logged {
        change,
        read: logged,
        csn,
        id,
        uuid,
        age,
    };
    match &logged.operation {
        // A name may have been used again since.
        ReadOperation::Delete if logged.uuid.is_none() && held > Some(csn) => Ok(OutcomeKind::Older.of(id)),
        ReadOperation::Delete => delete::run(execution, change, uuid, aftermath),
        ReadOperation::Modify(modifications) => applied.modify(execution, modifications),
        ReadOperation::Rename(rename) => applied.rename(execution, rename, aftermath),
        ReadOperation::Revise(modifications) => applied.revise(execution, modifications, aftermath),
    }
}

impl ReadLogged {
    fn locate(&self, execution: &Execution<'_, '_>) -> Result<Option<EntryId>, OperationError> {
        if let Some(uuid) = self.uuid {
            return find(execution, uuid);
        }
        Ok(match execution.view().locate(&self.dn)? {
            Location::Entry(id) if !write_checks::record_of(execution.view(), id)?.is_glue() => Some(id),
            _ => None,
        })
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
                    conflict::note_deleted(execution, self.dn.pretty(), uuid, (Some(deleted), change.csn));
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

/// How the change stands to the entry.
enum Age {
    Newer,
    /// The entry has this CSN, and these changes after it.
    Older(Csn, Newer),
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
        change_values(execution, &name, plan)?;
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
        let overlays = execution.context.overlays();
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
            let merged = merge(schema, &wanted, &newer.modifications);
            let is_rename_lost = matches!(self.read.operation, ReadOperation::Rename(_)) && newer.is_renamed;
            if merged.is_lossy || is_rename_lost || newer.is_moved && self.moves() {
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
        } else if self.must_stamp()
            && !wanted
                .iter()
                .any(|modification| modification.description == configuration.well_known.entry_csn)
        {
            wanted.push(of_csn(execution, self.csn));
        }
        wanted.retain(|modification| !overlays.maintained.contains(&modification.description));
        let record = write_checks::record_of(execution.view(), self.id)?;
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
        };
        let current = execution.view().dn(self.id)?;
        let superior = rename.new_superior.clone().filter(|_| !is_moved);
        let leaf = current.leaf().filter(|_| is_renamed);
        let to = superior
            .or_else(|| current.parent())
            .unwrap_or_default()
            .child(leaf.as_ref().unwrap_or(&rename.new_rdn));
        self.place(execution, &to, (plan, self.requested(rename)), aftermath)
    }

    /// Gives the entry a name and new values.
    fn place(
        &self,
        execution: &mut Execution<'_, '_>,
        to: &Dn,
        (plan, requested): (Plan, RequestedChange),
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let current = execution.view().dn(self.id)?;
        let mapping = &self.change.mapping;
        let mut moves = Moves::new(mapping, to, false);
        let wanted = Wanted {
            mapping,
            name: to,
            place: None,
            claim: Claim {
                csn: Some(self.csn),
                uuid: self.uuid,
            },
            own: Some(self.id),
        };
        let way = placing::prepare(execution, &mut moves, wanted, aftermath)?;
        let outcome = match way {
            Way::Lost => {
                conflict::drop_entry(execution, self.id, None)?;
                OutcomeKind::Lost.into()
            }
            Way::Rebuild => {
                execution.note_requested(|_| requested);
                change_values(execution, &current, plan)?;
                let attributes = placing::stored_attributes(execution, self.id)?;
                let id = moves.rebuild(execution, self.id, (to, attributes), 0)?;
                OutcomeKind::Renamed.of(id)
            }
            Way::Add | Way::Stay | Way::Rename => {
                // Who gave way may have been above it.
                let current = execution.view().dn(self.id)?;
                execution.note_requested(|_| requested);
                let effect = Effect::Rename {
                    dn: current.pretty().into(),
                    new_dn: to.pretty().into(),
                    changes: plan.changes,
                };
                let before = Before {
                    attributes: &plan.before,
                    deleted_tree: None,
                };
                execution.apply_own(ChangeKind::ModifyDn, effect, before)?;
                OutcomeKind::Renamed.of(self.id)
            }
        };
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
            let record = write_checks::record_of(view, self.id)?;
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
                let requested = renamed(&current, to, true);
                self.place(execution, to, (plan, requested), aftermath)
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

fn change_values(execution: &mut Execution<'_, '_>, name: &Dn, plan: Plan) -> Result<(), OperationError> {
    let effect = Effect::Modify {
        dn: name.pretty().into(),
        changes: plan.changes,
    };
    let before = Before {
        attributes: &plan.before,
        deleted_tree: None,
    };
    execution.apply_own(ChangeKind::Modify, effect, before)?;
    Ok(())
}

fn of_csn(execution: &Execution<'_, '_>, csn: Csn) -> Modification {
    Modification::internal(
        execution.schema(),
        ModificationKind::Replace,
        &execution.configuration.well_known.entry_csn,
        vec![csn.text().into_bytes()],
    )
}
