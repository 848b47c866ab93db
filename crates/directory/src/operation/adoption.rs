//! Entries whose closest superior is another one now. Where several servers write, that is a new version of them.

use ironbark_store::{Csn, Effect, EntryId, ValueChange};

use super::write_checks;
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
            if write_checks::record_of(view, child)?.is_glue() {
                open.push(child);
            } else {
                found.push(child);
            }
        }
    }
    Ok(found)
}

/// Makes a revision of the entry: a version that is greater than the one it has, and less than any change that was made
/// at another server meanwhile.
///
/// # Errors
/// The storage failed.
pub(crate) fn revise(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    let held = write_checks::record_of(execution.view(), id)?.entry_csn()?;
    let revision = held.and_then(|held| held.revised(execution.directory.server_id()));
    let csn = revision.map_or_else(|| execution.stamp.csn.clone(), Csn::text);
    set_csn(execution, id, csn)
}

/// Gives the entry the CSN of this change.
///
/// # Errors
/// The storage failed.
pub(crate) fn stamp(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    let csn = execution.stamp.csn.clone();
    set_csn(execution, id, csn)
}

fn set_csn(execution: &mut Execution<'_, '_>, id: EntryId, csn: String) -> Result<(), OperationError> {
    let dn = execution.view().dn(id)?.pretty().into();
    let changes = vec![ValueChange::Replace {
        attribute: "entryCSN".into(),
        values: vec![csn.into_bytes()],
    }];
    execution.apply_further(Effect::Modify { dn, changes })?;
    Ok(())
}

/// Makes revisions of the entries that have come below this one, as it took the place of glue.
///
/// # Errors
/// The storage failed.
pub(crate) fn revise_adopted(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    for below in closest_below(execution, id)? {
        revise(execution, below)?;
    }
    Ok(())
}
