//! Entries whose closest superior is another one now. Where several servers write, that is a new version of them.

use ironbark_store::{Effect, EntryId, ValueChange};

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

/// Gives the entry the CSN of this change.
///
/// # Errors
/// The storage failed.
pub(crate) fn stamp(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    let dn = execution.view().dn(id)?.pretty().into();
    let changes = vec![ValueChange::Replace {
        attribute: "entryCSN".into(),
        values: vec![execution.stamp.csn.as_bytes().to_vec()],
    }];
    execution.apply_further(Effect::Modify { dn, changes })?;
    Ok(())
}

/// Stamps the entries anew that have come below this one, as it took the place of glue.
///
/// # Errors
/// The storage failed.
pub(crate) fn stamp_adopted(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    for below in closest_below(execution, id)? {
        stamp(execution, below)?;
    }
    Ok(())
}
