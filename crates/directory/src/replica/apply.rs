//! Executing a message of a provider in the transaction.

use ironbark_model::Dn;
use ironbark_store::{
    ChangeKind, ChangeRecord, Csn, Effect, EntryId, Record, StoreError, ValueChange, change::RequestedChange,
};

use super::{
    conflict::{self, Claim},
    delete,
    difference::{Provided, requested, watched_before},
    incoming::{Incoming, OutcomeKind, ReplicaOutcome, Replicated},
    placing::{self, Moves, Wanted, Way},
    read::ReadEntry,
};
use crate::{
    OperationError,
    operation::write_checks,
    overlay::{Before, Execution},
    refusal::ReplicaRefusal,
};

/// Executes a message. `entry` is the entry in it.
///
/// # Errors
/// As of [`Directory::replicate`](crate::Directory::replicate).
pub(super) fn run(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: Option<&ReadEntry>,
) -> Result<ReplicaOutcome, OperationError> {
    let vector = execution.vector()?;
    let news: Vec<Csn> = change
        .cookie
        .iter()
        .copied()
        .filter(|csn| !vector.covers(*csn))
        .collect();
    let is_covered = change.csn.is_some_and(|csn| vector.covers(csn));
    if let Some(csn) = entry.and_then(|entry| entry.csn).or(change.csn) {
        execution.attribute_to(csn, via_of(change.via));
    }
    let outcome = match (&change.incoming, entry) {
        (Incoming::Entry(_), Some(entry)) => apply(execution, change, entry, is_covered)?,
        (Incoming::Delete { .. }, _) if is_covered => OutcomeKind::Covered.into(),
        (Incoming::Delete { uuid }, _) => delete::run(execution, change, *uuid)?,
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
    Ok(outcome)
}

/// The server that sent a message (0: not known), as the record says it.
pub(super) fn via_of(peer: u16) -> u16 {
    match peer {
        0 => ChangeRecord::UNKNOWN_PEER,
        via => via,
    }
}

/// Makes the change one of this server.
pub(super) fn make_own(execution: &mut Execution<'_, '_>) {
    let csn = Csn::parse(execution.stamp.csn.as_bytes()).unwrap_or_default();
    execution.attribute_to(csn, 0);
}

/// The entry of a UUID.
///
/// # Errors
/// `busy`: there is no index yet. The storage failed.
pub(super) fn find(execution: &Execution<'_, '_>, uuid: [u8; 16]) -> Result<Option<EntryId>, OperationError> {
    execution.view().entry_of_uuid(&uuid).map_err(|error| match error {
        StoreError::Inapplicable(_) => ReplicaRefusal::NoIndex.into(),
        other => other.into(),
    })
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
) -> Result<ReplicaOutcome, OperationError> {
    if let Some(id) = find(execution, entry.uuid)? {
        return update(execution, change, entry, id);
    }
    if is_covered {
        return Ok(OutcomeKind::Covered.into());
    }
    if change.mapping.multi_provider
        && let Some((deleted, _)) = execution.view().tombstone(&entry.uuid)?
    {
        // The sender has the entry. It hears of the delete again, unless it must have heard of it since.
        if entry.csn.is_some_and(|csn| csn > deleted) {
            make_own(execution);
            execution.bury(entry.uuid);
        }
        return Ok(OutcomeKind::Tombstoned.into());
    }
    add(execution, change, entry)
}

fn wanted<'a>(change: &'a Replicated, entry: &'a ReadEntry, own: Option<EntryId>) -> Wanted<'a> {
    Wanted {
        mapping: &change.mapping,
        name: &entry.dn,
        claim: Claim {
            csn: entry.csn,
            uuid: entry.uuid,
        },
        own,
    }
}

fn add(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
) -> Result<ReplicaOutcome, OperationError> {
    let mut moves = Moves::new(&change.mapping, &entry.dn);
    if placing::prepare(execution, &mut moves, wanted(change, entry, None))? == Way::Lost {
        return Ok(OutcomeKind::Lost.into());
    }
    let mut attributes = Provided::of(execution, &change.mapping, entry).whole(entry, None)?;
    if entry.csn.is_none() {
        attributes.push(("entryCSN".into(), vec![execution.stamp.csn.as_bytes().to_vec()]));
    }
    execution.note_next_effect();
    let effect = Effect::Add {
        dn: entry.dn.pretty().into(),
        attributes,
    };
    let id = execution.apply_own(ChangeKind::Add, effect, Before::default())?;
    Ok(OutcomeKind::Added.of(id))
}

fn update(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    id: EntryId,
) -> Result<ReplicaOutcome, OperationError> {
    let name = execution.view().dn(id)?;
    if !change.mapping.holds(&name) {
        let (name, other) = (entry.dn.pretty().to_owned(), name.pretty().to_owned());
        return Err(ReplicaRefusal::OtherEntry { name, other }.into());
    }
    let is_same_name = name == entry.dn && name.rdn(0) == entry.dn.rdn(0);
    {
        let record = write_checks::record_of(execution.view(), id)?;
        match (entry.csn, csn_of(execution, &record)?) {
            (Some(new), Some(held)) if new == held => {
                if is_same_name || is_place_certain(execution, change, &record)? {
                    return Ok(OutcomeKind::Same.of(id));
                }
            }
            (Some(new), Some(held)) if new < held => return Ok(OutcomeKind::Older.of(id)),
            (Some(_), _) => {}
            (None, _) => {
                let provided = Provided::of(execution, &change.mapping, entry);
                if is_same_name && provided.changes(entry, &record)?.is_empty() {
                    return Ok(OutcomeKind::Same.of(id));
                }
            }
        }
    }
    let mut moves = Moves::new(&change.mapping, &entry.dn);
    let way = placing::prepare(execution, &mut moves, wanted(change, entry, Some(id)))?;
    let outcome = match way {
        Way::Lost => {
            conflict::drop_entry(execution, id)?;
            OutcomeKind::Lost.into()
        }
        Way::Rebuild => rebuild(execution, change, entry, (&mut moves, id))?,
        Way::Add | Way::Stay | Way::Rename => change_entry(execution, change, entry, id)?,
    };
    Ok(ReplicaOutcome {
        remade: moves.remade,
        ..outcome
    })
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

/// Changes name and attributes of an entry.
fn change_entry(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    id: EntryId,
) -> Result<ReplicaOutcome, OperationError> {
    let (current, changes, before) = {
        let view = execution.view();
        let record = write_checks::record_of(view, id)?;
        let mut changes = Provided::of(execution, &change.mapping, entry).changes(entry, &record)?;
        if entry.csn.is_none() {
            changes.push(ValueChange::Replace {
                attribute: "entryCSN".into(),
                values: vec![execution.stamp.csn.as_bytes().to_vec()],
            });
        }
        let before = watched_before(execution, &record, &changes)?;
        (view.dn(id)?, changes, before)
    };
    let is_renamed = current != entry.dn || current.rdn(0) != entry.dn.rdn(0);
    let dn: Box<str> = current.pretty().into();
    let (kind, outcome, effect) = if is_renamed {
        execution.note_requested(|_| renamed(&current, entry));
        let new_dn = entry.dn.pretty().into();
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
    execution.apply_own(kind, effect, before)?;
    Ok(outcome.of(id))
}

/// A rename, as the log of requests has it.
fn renamed(current: &Dn, entry: &ReadEntry) -> RequestedChange {
    let superior = entry.dn.parent().unwrap_or_default();
    let has_moved = current.parent().unwrap_or_default() != superior;
    RequestedChange::ModifyDn {
        dn: current.pretty().into(),
        new_rdn: entry.dn.leaf().unwrap_or_default().pretty().into(),
        delete_old_rdn: true,
        new_superior: has_moved.then(|| superior.pretty().into()),
    }
}

/// Makes an entry anew at a name to which it cannot be renamed.
fn rebuild(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    (moves, id): (&mut Moves<'_>, EntryId),
) -> Result<ReplicaOutcome, OperationError> {
    let (current, mut attributes) = {
        let view = execution.view();
        let record = write_checks::record_of(view, id)?;
        let provided = Provided::of(execution, &change.mapping, entry);
        (view.dn(id)?, provided.whole(entry, Some(&record))?)
    };
    if entry.csn.is_none() {
        attributes.retain(|(name, _)| &**name != "entryCSN");
        attributes.push(("entryCSN".into(), vec![execution.stamp.csn.as_bytes().to_vec()]));
    }
    execution.note_requested(|_| renamed(&current, entry));
    let new = moves.rebuild(execution, id, (&entry.dn, attributes), 0)?;
    Ok(OutcomeKind::Renamed.of(new))
}
