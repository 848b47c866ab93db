//! The changes that gave entries their places, as far as the log tells them.

use std::collections::HashMap;

use ironbark_model::Dn;
use ironbark_store::{Csn, Effect, EntryId, change::RequestedChange};

use super::write_checks;
use crate::{OperationError, overlay::Execution, place};

/// Changes of the log that are read at most, from its end: the writer waits meanwhile.
pub(crate) const MOST_CHANGES: u64 = 1 << 18;

/// Less than the CSN of any change.
const BEFORE_ALL: &[u8] = b"00010101000000.000000Z#000000#000#000000";

/// What is known of one entry.
struct Known {
    /// Whether it counts how the entry got its RDN, too.
    with_rdn: bool,
    placed: Csn,
}

/// For each entry the CSN of the change, or the revision, that gave it its superior; of one that was set aside, its
/// name. One that the log does not tell is less than all others.
///
/// # Errors
/// The storage failed.
pub(crate) fn placed(execution: &mut Execution<'_, '_>, ids: &[EntryId]) -> Result<Vec<Csn>, OperationError> {
    find(execution, ids, |name, uuid| place::is_aside(name.pretty(), uuid))
}

/// The same for the name of one entry: its RDN or its superior, whichever it got last.
///
/// # Errors
/// The storage failed.
pub(crate) fn named(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<Csn, OperationError> {
    let found = find(execution, &[id], |_, _| true)?;
    Ok(found.into_iter().next().unwrap_or_default())
}

fn find(
    execution: &mut Execution<'_, '_>,
    ids: &[EntryId],
    with_rdn: fn(&Dn, [u8; 16]) -> bool,
) -> Result<Vec<Csn>, OperationError> {
    let mut uuids = Vec::with_capacity(ids.len());
    let mut known = HashMap::with_capacity(ids.len());
    for id in ids {
        let view = execution.view();
        let uuid = write_checks::record_of(view, *id)?.entry_uuid()?.unwrap_or_default();
        uuids.push(uuid);
        known.insert(
            uuid,
            Known {
                with_rdn: with_rdn(&view.dn(*id)?, uuid),
                placed: Csn::parse(BEFORE_ALL).unwrap_or_default(),
            },
        );
    }
    if !ids.is_empty() {
        execution.show_changes()?;
        read(execution, &mut known)?;
    }
    let placed = |uuid| known.get(uuid).map(|known| known.placed).unwrap_or_default();
    Ok(uuids.iter().map(placed).collect())
}

fn read(execution: &Execution<'_, '_>, known: &mut HashMap<[u8; 16], Known>) -> Result<(), OperationError> {
    let view = execution.view();
    let state = view.log_state()?;
    let begin = state
        .first
        .unwrap_or_default()
        .max(state.last.saturating_sub(MOST_CHANGES));
    for record in view.changes(begin)? {
        let record = record?;
        for (number, recorded) in record.effects.iter().enumerate() {
            let Some(known) = place::entry_in(recorded).and_then(|uuid| known.get_mut(&uuid)) else {
                continue;
            };
            let placed = match (place::revision_in(recorded), &recorded.effect) {
                _ if recorded.marks.internal || record.adds_anew(number) => None,
                (Some(revision), _) => Some(revision),
                (None, Effect::Add { .. }) => Some(record.effect_csn(number)),
                // A rename that nobody has asked for follows from another change.
                (None, _) => match place::request_of(&record, number) {
                    Some(RequestedChange::ModifyDn { new_superior, .. })
                        if known.with_rdn || new_superior.is_some() =>
                    {
                        Some(record.effect_csn(number))
                    }
                    _ => None,
                },
            };
            known.placed = known.placed.max(placed.unwrap_or_default());
        }
    }
    Ok(())
}
