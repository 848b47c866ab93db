//! What the own log tells of an entry: the changes that are newer than one that comes late.

use ironbark_model::{Dn, Schema};
use ironbark_store::{
    Csn, Effect, RecordedEffect, StoreError, ValueChange, View,
    change::{Gone, RequestedChange, RequestedKind, RequestedModification},
};

use super::read::of_requested;
use crate::{
    operation::{modify_dn, placed::MOST_CHANGES},
    place,
    request::modification::Modification,
};

/// Changes that are read at a time, from the end of the log backwards.
const WINDOW: u64 = 256;

/// The newer changes of an entry.
#[derive(Default)]
pub(super) struct Newer {
    /// In the order of their CSNs.
    pub(super) modifications: Vec<Modification>,
    /// Whether it got another RDN.
    pub(super) is_renamed: bool,
    /// Whether it got another superior.
    pub(super) is_moved: bool,
    /// Whether the log tells all of them.
    pub(super) is_complete: bool,
}

/// The changes of the entry of this UUID that are newer than the one of `csn`, which comes late; `None`: that one was
/// made before. The view must show the changes of its transaction.
///
/// # Errors
/// The storage failed.
pub(super) fn newer_than(
    view: View<'_>,
    schema: &Schema,
    uuid: [u8; 16],
    csn: Csn,
) -> Result<Option<Newer>, StoreError> {
    let state = view.log_state()?;
    let mut found: Vec<(Csn, Vec<Modification>)> = Vec::new();
    let mut newer = Newer::default();
    let begin = state
        .first
        .unwrap_or_default()
        .max(state.last.saturating_sub(MOST_CHANGES));
    // The transaction itself has changes behind the last one that is counted.
    let (mut end, mut start) = (u64::MAX, state.last.saturating_sub(WINDOW).max(begin));
    while end > begin && !newer.is_complete {
        let mut window = Vec::new();
        for record in view.changes(start)? {
            let record = record?;
            if record.position.sequence >= end {
                break;
            }
            let effects = record.effects.iter().enumerate();
            let own = effects.filter(|(_, recorded)| !recorded.marks.internal);
            for (number, recorded) in own.filter(|(_, recorded)| place::entry_in(recorded) == Some(uuid)) {
                if record.adds_anew(number) {
                    continue;
                }
                let made = record.effect_csn(number);
                if made == csn {
                    return Ok(None);
                }
                if let Some(revision) = place::revision_in(recorded) {
                    // It gives name and place alone. Other revisions of the same change may be less or greater.
                    newer.is_complete |= begins(recorded, csn.version());
                    newer.is_renamed |= revision > csn && is_set_aside(recorded, uuid);
                    newer.is_moved |= revision > csn;
                    continue;
                }
                // The entry's CSN only grows: what came before this change is older.
                newer.is_complete |= begins(recorded, csn.version());
                if made > csn {
                    let requested = place::request_of(&record, number);
                    // A rename that nobody has asked for follows from another change.
                    if let Some(RequestedChange::ModifyDn { new_superior, .. }) = requested {
                        newer.is_renamed = true;
                        newer.is_moved |= new_superior.is_some();
                    }
                    window.push((made, modifications(schema, requested, recorded)));
                }
            }
        }
        window.append(&mut found);
        found = window;
        (end, start) = (start, start.saturating_sub(WINDOW).max(begin));
    }
    found.sort_by_key(|(csn, _)| *csn);
    newer.modifications = found.into_iter().flat_map(|(_, modifications)| modifications).collect();
    Ok(Some(newer))
}

/// Whether the entry was older than `csn` before this change, or was not there.
fn begins(recorded: &RecordedEffect, csn: Csn) -> bool {
    let changes = match &recorded.effect {
        Effect::Add { .. } => return true,
        Effect::Delete { .. } => return false,
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => changes,
    };
    let Gone::Values(gone) = &recorded.before.gone else {
        return false;
    };
    let of_csn = changes
        .iter()
        .zip(gone)
        .filter(|(change, _)| change.attribute() == "entryCSN");
    let mut former = of_csn.flat_map(|(_, values)| values);
    former.any(|value| Csn::parse(value).is_some_and(|former| former < csn))
}

/// Whether it has left the entry with the name of one that was set aside.
fn is_set_aside(recorded: &RecordedEffect, uuid: [u8; 16]) -> bool {
    let name = match &recorded.effect {
        Effect::Rename { new_dn, .. } => new_dn,
        other => other.dn(),
    };
    place::is_aside(name, uuid)
}

/// What was asked for, if the log has it: a request that changed nothing here counts as well.
fn modifications(schema: &Schema, requested: Option<&RequestedChange>, recorded: &RecordedEffect) -> Vec<Modification> {
    let read = match requested {
        Some(RequestedChange::Modify { modifications, .. }) => Some(
            modifications
                .iter()
                .filter_map(|change| of_request(schema, change))
                .collect(),
        ),
        Some(RequestedChange::ModifyDn {
            dn,
            new_rdn,
            delete_old_rdn,
            ..
        }) => of_rename(schema, dn, new_rdn, *delete_old_rdn),
        _ => None,
    };
    read.unwrap_or_else(|| of_effect(schema, &recorded.effect))
}

fn of_request(schema: &Schema, change: &RequestedModification) -> Option<Modification> {
    let description = schema.attribute_description(change.attribute.as_bytes()).ok()?;
    Some(of_requested(schema, change.kind, description, change.values.clone()))
}

fn of_rename(schema: &Schema, dn: &str, new_rdn: &str, delete_old_rdn: bool) -> Option<Vec<Modification>> {
    let dn = Dn::parse(schema, dn.as_bytes()).ok()?;
    let new_rdn = Dn::parse(schema, new_rdn.as_bytes()).ok()?;
    modify_dn::modifications_of(schema, &dn, &new_rdn, delete_old_rdn).ok()
}

fn of_effect(schema: &Schema, effect: &Effect) -> Vec<Modification> {
    let set = |attribute: &str, kind, values: &[Vec<u8>]| {
        let change = RequestedModification {
            kind,
            attribute: attribute.into(),
            values: values.to_vec(),
        };
        of_request(schema, &change)
    };
    match effect {
        Effect::Delete { .. } => Vec::new(),
        Effect::Add { attributes, .. } => {
            let all = attributes.iter();
            all.filter_map(|(attribute, values)| set(attribute, RequestedKind::Replace, values))
                .collect()
        }
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => {
            let all = changes.iter().map(|change| match change {
                ValueChange::Add { attribute, values } => (attribute, RequestedKind::Add, values),
                ValueChange::Delete { attribute, values } => (attribute, RequestedKind::Delete, values),
                ValueChange::Replace { attribute, values } => (attribute, RequestedKind::Replace, values),
            });
            all.filter_map(|(attribute, kind, values)| set(attribute, kind, values))
                .collect()
        }
    }
}
