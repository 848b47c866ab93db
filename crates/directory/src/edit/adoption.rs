//! Entries whose closest superior is another one now. Where several servers write, that is a new version of them.

use ironbark_store::{Csn, Effect, EntryId, ValueChange};

use super::{checks, placed};
use crate::{OperationError, overlay::Execution};

/// The entries below one, without entries between.
///
/// # Errors
/// The storage failed.
pub(crate) fn closest_below(execution: &Execution<'_, '_>, id: EntryId) -> Result<Vec<EntryId>, OperationError> {
    let view = execution.view();
    let (mut found, mut open) = (Vec::new(), vec![id]);
    while let Some(above) = open.pop() {
        for child in view.children(above)? {
            let child = child?;
            if checks::record_of(view, child)?.is_glue() {
                open.push(child);
            } else {
                found.push(child);
            }
        }
    }
    Ok(found)
}

/// Makes revisions of entries: each has another place now, and no change of its own that says so. A revision is greater
/// than the version that the entry has, and less than any change that was made at another server meanwhile.
///
/// Where values are merged, the place counts by its own CSN, and `entryCSN` stays: the revision is one of the change
/// that gave the entry its place, as far as the log knows it.
///
/// # Errors
/// The storage failed.
pub(crate) fn revise(execution: &mut Execution<'_, '_>, ids: &[EntryId]) -> Result<(), OperationError> {
    let server = execution.directory.server_id();
    if !execution.context.settings.merges_values() {
        for id in ids {
            let held = checks::record_of(execution.view(), *id)?.entry_csn()?;
            match held.and_then(|held| held.revised(server)) {
                Some(revision) => set_csn(execution, *id, revision, revision)?,
                None => stamp(execution, *id)?,
            }
        }
        return Ok(());
    }
    for (id, placed) in ids.iter().zip(placed::placed(execution, ids)?) {
        let held = checks::record_of(execution.view(), *id)?.entry_csn()?;
        match (held, placed.revised(server)) {
            (Some(held), Some(revision)) => set_csn(execution, *id, held, revision)?,
            _ => stamp(execution, *id)?,
        }
    }
    Ok(())
}

/// Gives the entry the CSN of this change.
///
/// # Errors
/// The storage failed.
pub(crate) fn stamp(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    execution.draw_own_csn();
    let csn = Csn::parse(execution.stamp.csn.as_bytes()).unwrap_or_default();
    set_csn(execution, id, csn, csn)
}

/// Sets `entryCSN`, and lets the log tell the place of the entry, which counts by `revision`.
fn set_csn(execution: &mut Execution<'_, '_>, id: EntryId, csn: Csn, revision: Csn) -> Result<(), OperationError> {
    let dn = execution.view().dn(id)?.pretty().into();
    let changes = vec![ValueChange::Replace {
        attribute: "entryCSN".into(),
        values: vec![csn.text().into_bytes()],
    }];
    let number = execution.record().effects.len();
    execution.note_next_effect();
    execution.apply_further(Effect::Modify { dn, changes })?;
    execution.keep_own_csn();
    execution.keep_revision(number, id, revision)
}

/// Makes revisions of the entries that have come below this one, as it took the place of glue.
///
/// # Errors
/// The storage failed.
pub(crate) fn revise_adopted(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    let below = closest_below(execution, id)?;
    revise(execution, &below)
}
