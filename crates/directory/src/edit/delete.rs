//! The end of an entry, for requests, overlays and consumers.

use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Effect, EntryId, Location};

use super::{checks, modify::watched_attributes};
use crate::{
    OperationError,
    edit::apply::{Before, apply_own},
    overlay::Execution,
    refusal::DeleteRefusal,
};

/// Removes one entry; `tree` is the top of the deleted subtree. Glue takes the place of an entry with subordinates.
pub(crate) fn remove(execution: &mut Execution<'_, '_>, id: EntryId, tree: Option<&Dn>) -> Result<(), OperationError> {
    execution.note_next_effect();
    apply(execution, id, tree)
}

/// Removes an entry that has lost its name to another one. A log of requests does not tell it with the change of that
/// one: it is told by a change of its own, if at all.
pub(crate) fn give_up(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    apply(execution, id, None)
}

/// Deletes an entry that has no subordinates on behalf of an overlay, as the operation's own effect: access is not
/// checked, and other overlays follow it.
///
/// # Errors
/// `noSuchObject`, `notAllowedOnNonLeaf`; the storage failed, or an overlay refused.
pub fn delete_internally(execution: &mut Execution<'_, '_>, dn: &Dn) -> Result<(), OperationError> {
    let Location::Entry(id) = execution.view().locate(dn)? else {
        return Err(OperationError::no_such_object(String::new()));
    };
    if execution.view().has_subordinates(id)? {
        return Err(DeleteRefusal::InternalHasSubordinates.into());
    }
    remove(execution, id, None)
}

fn apply(execution: &mut Execution<'_, '_>, id: EntryId, tree: Option<&Dn>) -> Result<(), OperationError> {
    let (name, watched) = {
        let view = execution.view();
        let record = checks::record_of(view, id)?;
        (view.dn(id)?, watched_attributes(execution, &record)?)
    };
    let effect = Effect::Delete {
        dn: name.pretty().into(),
    };
    apply_own(
        execution,
        ChangeKind::Delete,
        effect,
        Before {
            attributes: &watched,
            deleted_tree: tree,
        },
    )?;
    Ok(())
}
