//! The changes that gave entries their places, as far as the log tells them.

use std::collections::HashMap;

use ironbark_model::Dn;
use ironbark_store::{ChangeRecord, Csn, Effect, EntryId, change::RequestedChange};

use super::{checks, log_back::read_back};
use crate::{OperationError, overlay::Execution, place};

/// Less than the CSN of any change.
const BEFORE_ALL: &[u8] = b"00010101000000.000000Z#000000#000#000000";

/// What is known of one entry.
struct Known {
    /// Whether it counts how the entry got its RDN, too.
    with_rdn: bool,
    placed: Csn,
    /// Nothing before that can be of it.
    is_added: bool,
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
        let uuid = checks::record_of(view, *id)?.entry_uuid()?.unwrap_or_default();
        uuids.push(uuid);
        known.insert(
            uuid,
            Known {
                with_rdn: with_rdn(&view.dn(*id)?, uuid),
                placed: Csn::parse(BEFORE_ALL).unwrap_or_default(),
                is_added: false,
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
    let take = |known: &mut HashMap<[u8; 16], Known>, record: &ChangeRecord| {
        for (number, recorded) in record.effects.iter().enumerate() {
            let found = place::entry_in(recorded).and_then(|uuid| known.get_mut(&uuid));
            if let Some(known) = found.filter(|_| !recorded.marks.internal && !record.adds_anew(number)) {
                known.take(record, number);
            }
        }
    };
    let is_enough = |known: &HashMap<[u8; 16], Known>| known.values().all(|known| known.is_added);
    Ok(read_back(execution.view(), known, take, is_enough)?)
}

impl Known {
    /// Takes up an effect of the entry, by its number.
    fn take(&mut self, record: &ChangeRecord, number: usize) {
        let Some(recorded) = record.effects.get(number) else {
            return;
        };
        let is_add = matches!(recorded.effect, Effect::Add { .. });
        self.is_added |= is_add;
        if let Some(base) = place::base_in(recorded) {
            // It came with the place that others have given to it.
            if is_add {
                self.placed = self.placed.max(base.added.unwrap_or_default());
            }
            return;
        }
        // A rename that nobody has asked for follows from another change.
        let is_placed = is_add
            || match place::request_of(record, number) {
                Some(RequestedChange::ModifyDn { new_superior, .. }) => self.with_rdn || new_superior.is_some(),
                _ => false,
            };
        let by_request = || is_placed.then(|| record.effect_csn(number));
        let placed = place::revision_in(recorded).or_else(by_request);
        self.placed = self.placed.max(placed.unwrap_or_default());
    }
}
