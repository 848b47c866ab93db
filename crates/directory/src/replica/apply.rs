//! Executing a message of a provider in the transaction.

use ironbark_model::{Attribute, Dn};
use ironbark_store::{ChangeKind, ChangeRecord, Csn, Effect, EntryId, Record, ValueChange, change::RequestedChange};

use super::{
    conflict::{self, Claim},
    delete,
    difference::{Provided, requested, watched_before},
    find::find,
    incoming::{Incoming, OutcomeKind, ReplicaOutcome, Replicated},
    job::Content,
    logged::{self, Standing},
    made_since::made_since_restored,
    place::Aftermath,
    placing::{self, Moves, Wanted, Way},
    read::ReadEntry,
};
use crate::{
    OperationError,
    edit::{
        apply::{Before, apply_own},
        checks,
    },
    overlay::{Execution, Heard},
    place,
    refusal::ReplicaRefusal,
};

/// Executes a message. `content` is what it is about; `aftermath` gets what this server has to tell then.
///
/// # Errors
/// As of [`replicate`](crate::replicate).
pub(super) fn run(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    content: &Content,
    aftermath: &mut Aftermath,
) -> Result<ReplicaOutcome, OperationError> {
    if let Some(step) = &change.step
        && step.is_made(execution)?
    {
        return Ok(OutcomeKind::Covered.into());
    }
    let vector = execution.vector()?;
    let mut news: Vec<Csn> = change
        .cookie
        .iter()
        .copied()
        .filter(|csn| !vector.covers(*csn))
        .collect();
    let is_covered = match content.whole() {
        // It is not one change, but all that its provider had.
        Some(whole) => change.csn.is_some() && whole.iter().all(|csn| vector.covers(csn)),
        None => change.csn.is_some_and(|csn| vector.covers(csn)),
    };
    if let Some(csn) = content.csn().or(change.csn) {
        execution.attribute_to(csn, via_of(change.via));
        execution.await_reviser(content.revised_by());
    }
    let outcome = match (&change.incoming, content) {
        (_, Content::Logged(_)) if is_covered => OutcomeKind::Covered.into(),
        (_, Content::Logged(logged)) => logged::run(execution, change, logged, Standing::Unknown, aftermath)?,
        (_, Content::Entry(entry)) => apply(execution, change, entry, is_covered, aftermath)?,
        // Where others write, the vector may have come with a refresh that did not name the entry: it was newer here.
        (Incoming::Delete { .. }, _) if is_covered && !change.mapping.multi_provider => OutcomeKind::Covered.into(),
        (Incoming::Delete { uuid }, _) => delete::run(execution, change, *uuid, aftermath)?,
        (Incoming::Contradicted(uuids), _) => delete::again(execution, uuids)?,
        (Incoming::EndOfRefresh, _) => {
            let heard = execution.hear_from(change.mapping.line)?;
            if heard.is_some() && news.is_empty() {
                // Without a record nothing would be committed.
                news = vector.iter().collect();
            }
            if heard == Some(Heard::All) && change.mapping.multi_provider && !change.mapping.merges_values {
                aftermath.append(made_since_restored(execution)?);
            }
            OutcomeKind::Noted.into()
        }
        _ => OutcomeKind::Noted.into(),
    };
    let record = execution.record();
    if let Some(last) = news.iter().max()
        && record.effects.is_empty()
        && record.buried.is_empty()
    {
        execution.attribute_to(*last, via_of(change.via));
    }
    execution.take_cookie(news);
    if let Some(step) = &change.step {
        step.take(execution)?;
    }
    Ok(outcome)
}

/// The server that sent a message (0: not known), as the record says it.
pub(super) fn via_of(peer: u16) -> u16 {
    match peer {
        0 => ChangeRecord::UNKNOWN_PEER,
        via => via,
    }
}

/// The CSN of a change that this server makes itself.
pub(super) fn own_csn(execution: &Execution<'_, '_>) -> Csn {
    Csn::parse(execution.stamp.csn.as_bytes()).unwrap_or_default()
}

/// Makes the change one of this server.
pub(super) fn make_own(execution: &mut Execution<'_, '_>) {
    let csn = own_csn(execution);
    execution.attribute_to(csn, 0);
}

/// `entryCSN` of an entry.
pub(super) fn csn_of(execution: &Execution<'_, '_>, record: &Record<'_>) -> Result<Option<Csn>, OperationError> {
    Ok(Claim::of(execution, record)?.csn)
}

fn apply(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    is_covered: bool,
    aftermath: &mut Aftermath,
) -> Result<ReplicaOutcome, OperationError> {
    let claim = Claim {
        csn: entry.csn,
        uuid: entry.uuid,
    };
    let (to, is_late) = match &entry.place {
        Some(told) => {
            let to = told.name_here(execution, &entry.dn)?;
            conflict::without_superior(execution, &change.mapping, told, claim, &to)?.unwrap_or((to, false))
        }
        None => (entry.dn.clone(), false),
    };
    if change.mapping.merges_values && is_covered {
        // A log tells what was done once. The entry may be elsewhere by now.
        return Ok(OutcomeKind::Covered.into());
    }
    let held = find(execution, entry.uuid)?;
    let arriving = Arriving {
        change,
        entry,
        to: &to,
        is_late,
        counts_by_content: false,
    };
    if let Some(id) = held {
        if let Some(recent) = &entry.recent {
            return arriving.merge(execution, id, recent, aftermath);
        }
        if change.csn.is_some() && change.mapping.merges_values && change.mapping.multi_provider {
            // A log tells of its add. It may have come as a whole meanwhile, and have another name by now.
            return Ok(OutcomeKind::Same.of(id));
        }
        return arriving.update(execution, id, aftermath);
    }
    if is_covered {
        return Ok(OutcomeKind::Covered.into());
    }
    if change.mapping.multi_provider && execution.view().tombstone(&entry.uuid)?.is_some() {
        if change.in_refresh {
            // The end of the refresh will say whether the sender is still to hear of the delete.
            return Ok(ReplicaOutcome {
                tombstoned: Some(entry.uuid),
                ..OutcomeKind::Tombstoned.into()
            });
        }
        // The sender has the entry, perhaps for ever: it may have been told of the delete while it had a change that
        // the teller lacked.
        let deleted = execution.view().tombstone(&entry.uuid)?.map(|(csn, _)| csn);
        conflict::note_deleted(execution, to.pretty(), entry.uuid, deleted, entry.csn);
        if change.mapping.merges_values {
            // Logs tell the delete to everyone; one that is made anew would be in none.
            return Ok(OutcomeKind::Tombstoned.into());
        }
        make_own(execution);
        execution.bury(entry.uuid);
        return Ok(OutcomeKind::Tombstoned.into());
    }
    arriving.add(execution, aftermath)
}

/// An entry on its way to its place.
pub(super) struct Arriving<'a> {
    pub(super) change: &'a Replicated,
    pub(super) entry: &'a ReadEntry,
    /// Its name here.
    pub(super) to: &'a Dn,
    /// Whether its server has given its name away since. Then its place is not made a revision.
    pub(super) is_late: bool,
    /// Whether what is here is compared with it, and not the CSNs.
    pub(super) counts_by_content: bool,
}

impl<'a> Arriving<'a> {
    fn wanted(&self, own: Option<EntryId>) -> Wanted<'a> {
        Wanted {
            mapping: &self.change.mapping,
            name: self.to,
            place: self.entry.place.as_ref(),
            claim: self.claim(),
            own,
        }
    }

    fn claim(&self) -> Claim {
        Claim {
            csn: self.entry.csn,
            uuid: self.entry.uuid,
        }
    }

    fn add(
        &self,
        execution: &mut Execution<'_, '_>,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let Self { change, entry, to, .. } = *self;
        let mut moves = Moves::new(&change.mapping, to, entry.place.is_some());
        if placing::prepare(execution, &mut moves, self.wanted(None), aftermath)? == Way::Lost {
            if entry.place.is_some() {
                aftermath.buried.push(entry.uuid);
            }
            return Ok(OutcomeKind::Lost.into());
        }
        let mut attributes = Provided::of(execution, &change.mapping, entry).whole(entry);
        if entry.csn.is_none() {
            attributes.push(("entryCSN".into(), vec![execution.stamp.csn.as_bytes().to_vec()]));
        }
        execution.note_next_effect();
        let effect = Effect::Add {
            dn: to.pretty().into(),
            attributes,
        };
        let number = execution.record().effects.len();
        let id = apply_own(execution, ChangeKind::Add, effect, Before::default())?;
        if let Some(recent) = &entry.recent {
            execution.keep_base_of(number, entry.uuid, &recent.base());
        }
        self.check_place(execution, id, aftermath)?;
        Ok(OutcomeKind::Added.of(id))
    }

    /// Stamps the entry anew if it could not get the place that the provider has told.
    fn check_place(
        &self,
        execution: &Execution<'_, '_>,
        id: EntryId,
        aftermath: &mut Aftermath,
    ) -> Result<(), OperationError> {
        if let Some(told) = self.entry.place.as_ref().filter(|_| !self.is_late)
            && !told.is_place_of(execution, id)?
        {
            aftermath.moved.push(self.entry.uuid);
        }
        Ok(())
    }

    pub(super) fn update(
        &self,
        execution: &mut Execution<'_, '_>,
        id: EntryId,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let Self { change, entry, to, .. } = *self;
        let name = execution.view().dn(id)?;
        if !change.mapping.holds(&name) {
            let (name, other) = (to.pretty().to_owned(), name.pretty().to_owned());
            return Err(ReplicaRefusal::OtherEntry { name, other }.into());
        }
        let held = csn_of(execution, &checks::record_of(execution.view(), id)?)?;
        if let Some(nothing) = self.nothing_to_do(execution, id, held, &name)? {
            if nothing == OutcomeKind::Older {
                self.note_older(execution, &name, held)?;
            }
            // A revision has another CSN than the change that made it.
            let is_own = change.csn == entry.csn || entry.csn.is_some_and(Csn::is_revision);
            if let (OutcomeKind::Same, true, Some(csn)) = (nothing, is_own, change.csn) {
                tell_again(execution, &name, entry, csn)?;
            }
            return Ok(nothing.of(id));
        }
        if let Some(told) = &entry.place
            && told.is_cycle(execution, &name, to)?
        {
            // Each of two entries has moved below the other one. Neither can; the entry keeps its superior.
            let leaf = to.leaf().unwrap_or_default();
            let stays = name.parent().unwrap_or_default().child(&leaf);
            self.tell_cycle(execution, &name)?;
            return Arriving {
                change,
                entry,
                to: &stays,
                is_late: false,
                counts_by_content: self.counts_by_content,
            }
            .put(execution, id, aftermath);
        }
        self.note_newer(execution, &name, held);
        self.put(execution, id, aftermath)
    }

    /// Notes a conflict if the version that was sent is older, and could not be known where the one that is here was
    /// made: neither comes from a refresh that is under way.
    fn note_older(
        &self,
        execution: &mut Execution<'_, '_>,
        name: &Dn,
        held: Option<Csn>,
    ) -> Result<(), OperationError> {
        if let (true, Some(sent), Some(held)) = (self.change.mapping.multi_provider, self.entry.csn, held) {
            let vector = execution.vector()?;
            if vector.covers(held) && !vector.covers(sent) {
                conflict::note_version(execution, name, self.entry.uuid, held, sent);
            }
        }
        Ok(())
    }

    /// Notes a conflict if the version that is here gives way to a newer one of a provider that has never had it.
    fn note_newer(&self, execution: &mut Execution<'_, '_>, name: &Dn, held: Option<Csn>) {
        let knew = self.entry.place.as_ref().and_then(|told| told.knew(held));
        if let (true, Some(false), Some(sent), Some(held)) =
            (self.change.mapping.multi_provider, knew, self.entry.csn, held)
            && sent > held
        {
            conflict::note_version(execution, name, self.entry.uuid, sent, held);
        }
    }

    fn tell_cycle(&self, execution: &mut Execution<'_, '_>, name: &Dn) -> Result<(), OperationError> {
        let superior = match self.entry.place.as_ref().and_then(|told| told.superior) {
            Some(superior) => find(execution, superior)?,
            None => None,
        };
        let winner = match superior {
            Some(id) => Claim::of(execution, &checks::record_of(execution.view(), id)?)?,
            None => Claim::default(),
        };
        conflict::tell_cycle(execution, name, self.to, winner, self.claim());
        Ok(())
    }

    fn put(
        &self,
        execution: &mut Execution<'_, '_>,
        id: EntryId,
        aftermath: &mut Aftermath,
    ) -> Result<ReplicaOutcome, OperationError> {
        let Self { change, entry, to, .. } = *self;
        let mut moves = Moves::new(&change.mapping, to, entry.place.is_some());
        let way = placing::prepare(execution, &mut moves, self.wanted(Some(id)), aftermath)?;
        let outcome = match way {
            Way::Lost if entry.place.is_some() => {
                aftermath.take_up_below(execution, id)?;
                aftermath.buried.push(entry.uuid);
                crate::edit::delete::give_up(execution, id)?;
                OutcomeKind::Lost.into()
            }
            Way::Lost => {
                conflict::drop_entry(execution, id, None)?;
                OutcomeKind::Lost.into()
            }
            Way::Rebuild => rebuild(execution, change, entry, to, &mut moves, id)?,
            Way::Add | Way::Stay | Way::Rename => change_entry(execution, change, entry, to, id)?,
        };
        if let Some(id) = outcome.id {
            self.check_place(execution, id, aftermath)?;
        }
        aftermath.append(moves.told.unwrap_or_default());
        Ok(ReplicaOutcome {
            remade: moves.remade,
            ..outcome
        })
    }

    /// Why nothing is to be done with an entry that is here, if so.
    fn nothing_to_do(
        &self,
        execution: &Execution<'_, '_>,
        id: EntryId,
        held: Option<Csn>,
        name: &Dn,
    ) -> Result<Option<OutcomeKind>, OperationError> {
        let Self { change, entry, to, .. } = *self;
        let is_same_name = name == to && name.rdn(0) == to.rdn(0);
        let record = checks::record_of(execution.view(), id)?;
        Ok(match (entry.csn, held) {
            _ if self.counts_by_content || entry.csn.is_none() => {
                let provided = Provided::of(execution, &change.mapping, entry);
                let is_same = is_same_name && provided.changes(entry, &record)?.is_empty();
                is_same.then_some(OutcomeKind::Same)
            }
            (Some(new), Some(held)) if new == held => {
                let is_certain = match entry.place {
                    // The provider expects a newer version: that is why it has put the entry aside.
                    Some(_) => place::is_aside(to.pretty(), entry.uuid),
                    None => is_place_certain(execution, change, &record)?,
                };
                (is_same_name || is_certain).then_some(OutcomeKind::Same)
            }
            (Some(new), Some(held)) if new < held => Some(OutcomeKind::Older),
            _ => None,
        })
    }
}

/// A provider sends entries as they are now, so the version of this change may have come with the cookie of an earlier
/// one. Who follows this server and has that one from elsewhere must find the version in the row of its own CSN.
fn tell_again(execution: &mut Execution<'_, '_>, name: &Dn, entry: &ReadEntry, csn: Csn) -> Result<(), OperationError> {
    let Some(held) = entry
        .csn
        .filter(|_| !execution.vector().is_ok_and(|vector| vector.covers(csn)))
    else {
        return Ok(());
    };
    execution.apply_further(Effect::Modify {
        dn: name.pretty().into(),
        changes: vec![ValueChange::Replace {
            attribute: "entryCSN".into(),
            values: vec![held.text().into_bytes()],
        }],
    })?;
    Ok(())
}

/// Whether the place of an entry is right, although the provider has the same entry elsewhere. Its superior has moved
/// there: then the superior moves here as well, and takes the entry with it. But glue does not move, and one that is
/// the only provider is right in any case.
fn is_place_certain(
    execution: &Execution<'_, '_>,
    change: &Replicated,
    record: &Record<'_>,
) -> Result<bool, OperationError> {
    if !change.mapping.multi_provider {
        return Ok(false);
    }
    let superior = execution.view().record(record.parent())?;
    Ok(superior.is_some_and(|superior| !superior.is_glue()))
}

/// The name of an entry, what is to be changed of its attributes, and those of them that overlays ask for.
type Difference = (Dn, Vec<ValueChange>, Vec<Attribute>);

fn difference(
    execution: &Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    id: EntryId,
) -> Result<Difference, OperationError> {
    let view = execution.view();
    let record = checks::record_of(view, id)?;
    let mut changes = Provided::of(execution, &change.mapping, entry).changes(entry, &record)?;
    if entry.csn.is_none() {
        changes.push(ValueChange::Replace {
            attribute: "entryCSN".into(),
            values: vec![execution.stamp.csn.as_bytes().to_vec()],
        });
    }
    let before = watched_before(execution, &record, &changes)?;
    Ok((view.dn(id)?, changes, before))
}

/// Changes name and attributes of an entry.
fn change_entry(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    to: &Dn,
    id: EntryId,
) -> Result<ReplicaOutcome, OperationError> {
    let (current, changes, before) = difference(execution, change, entry, id)?;
    let is_renamed = current != *to || current.rdn(0) != to.rdn(0);
    let dn: Box<str> = current.pretty().into();
    let (kind, outcome, effect) = if is_renamed {
        // The changes of values say which ones of the old RDN are gone.
        execution.note_requested(|_| renamed(&current, to, false));
        let new_dn = to.pretty().into();
        let effect = Effect::Rename { dn, new_dn, changes };
        (ChangeKind::ModifyDn, OutcomeKind::Renamed, effect)
    } else {
        execution.note_requested(|_| requested(&current, &changes));
        let effect = Effect::Modify { dn, changes };
        (ChangeKind::Modify, OutcomeKind::Modified, effect)
    };
    let before = Before {
        attributes: &before,
        deleted_tree: None,
    };
    apply_own(execution, kind, effect, before)?;
    Ok(outcome.of(id))
}

/// A rename, as the log of requests has it.
pub(super) fn renamed(current: &Dn, to: &Dn, delete_old_rdn: bool) -> RequestedChange {
    let superior = to.parent().unwrap_or_default();
    let has_moved = current.parent().unwrap_or_default() != superior;
    RequestedChange::ModifyDn {
        dn: current.pretty().into(),
        new_rdn: to.leaf().unwrap_or_default().pretty().into(),
        delete_old_rdn,
        new_superior: has_moved.then(|| superior.pretty().into()),
    }
}

/// Changes attributes of an entry on its way to another place.
pub(super) fn change_values(
    execution: &mut Execution<'_, '_>,
    name: &Dn,
    changes: Vec<ValueChange>,
    before: &[Attribute],
) -> Result<(), OperationError> {
    let effect = Effect::Modify {
        dn: name.pretty().into(),
        changes,
    };
    let before = Before {
        attributes: before,
        deleted_tree: None,
    };
    apply_own(execution, ChangeKind::Modify, effect, before)?;
    Ok(())
}

/// Makes an entry anew at a name to which it cannot be renamed. What else has changed is changed before: the log tells
/// it with the rename.
fn rebuild(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    to: &Dn,
    moves: &mut Moves<'_>,
    id: EntryId,
) -> Result<ReplicaOutcome, OperationError> {
    let (current, changes, before) = difference(execution, change, entry, id)?;
    execution.note_requested(|_| renamed(&current, to, false));
    if !changes.is_empty() {
        change_values(execution, &current, changes, &before)?;
    }
    let attributes = placing::stored_attributes(execution, id)?;
    let new = moves.rebuild(execution, id, to, attributes, 0)?;
    Ok(OutcomeKind::Renamed.of(new))
}
