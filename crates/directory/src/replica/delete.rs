//! A delete that a provider has sent.

use ironbark_store::Csn;

use super::{
    apply::{self, csn_of},
    conflict,
    find::find,
    incoming::{OutcomeKind, ReplicaOutcome, Replicated},
    place::Aftermath,
};
use crate::{
    OperationError,
    edit::{checks, delete},
    overlay::Execution,
};

/// Deletes the entry of a UUID, whatever its CSN is: a delete is final. If no entry has the UUID, a tombstone is left
/// for one that comes later.
///
/// # Errors
/// The storage failed, or an overlay refused.
pub(super) fn run(
    execution: &mut Execution<'_, '_>,
    change: &Replicated,
    uuid: [u8; 16],
    aftermath: &mut Aftermath,
) -> Result<ReplicaOutcome, OperationError> {
    let Some(id) = find(execution, uuid)? else {
        let tombstone = execution.view().tombstone(&uuid)?;
        let is_news = match (change.csn, tombstone) {
            (Some(csn), Some((known, _))) => known < csn,
            (Some(_), None) => true,
            // Who follows this server may have the entry from elsewhere.
            (None, None) if change.mapping.multi_provider => attribute_to_known(execution, change)?,
            (None, _) => false,
        };
        if is_news {
            execution.bury(uuid);
        }
        return Ok(OutcomeKind::Same.into());
    };
    let name = execution.view().dn(id)?;
    if !change.mapping.holds(&name) {
        return Ok(OutcomeKind::Same.into());
    }
    if change.mapping.multi_provider && change.csn.is_some() {
        let held = csn_of(execution, &checks::record_of(execution.view(), id)?)?;
        if held > change.csn {
            conflict::note_deleted(execution, name.pretty(), uuid, change.csn, held);
        }
    }
    if change.csn.is_none() && change.mapping.merges_values && change.mapping.multi_provider {
        // Who follows the log would take another server's CSN for one that it knows.
        apply::make_own(execution);
    } else if change.csn.is_none() && !change.mapping.own_csns {
        stamp(execution, change, id)?;
    }
    if change.mapping.multi_provider {
        aftermath.take_up_below(execution, id)?;
    }
    delete::remove(execution, id, None)?;
    Ok(OutcomeKind::Deleted.of(id))
}

/// Deletes entries anew that were deleted before: whoever has them is to hear of it again.
///
/// # Errors
/// The storage failed.
pub(super) fn again(execution: &mut Execution<'_, '_>, uuids: &[[u8; 16]]) -> Result<ReplicaOutcome, OperationError> {
    apply::make_own(execution);
    for uuid in uuids {
        if let Some((deleted, _)) = execution.view().tombstone(uuid)? {
            conflict::note_deleted(execution, "", *uuid, Some(deleted), None);
            execution.bury(*uuid);
        }
    }
    Ok(OutcomeKind::Tombstoned.into())
}

/// Gives a delete without a CSN the greatest that is known here. Without a cookie in its row everyone who follows is
/// told of it. `false`: none is known.
fn attribute_to_known(execution: &mut Execution<'_, '_>, change: &Replicated) -> Result<bool, OperationError> {
    let greatest = execution.vector()?.iter().max();
    if let Some(csn) = greatest {
        execution.attribute_to(csn, apply::via_of(change.via));
    }
    Ok(greatest.is_some())
}

/// The CSN of a delete that came without one: the greatest that is known of it. Without a cookie in its row, everyone
/// who follows is told of it, whatever its CSN is.
fn stamp(execution: &mut Execution<'_, '_>, change: &Replicated, id: u64) -> Result<(), OperationError> {
    let held = csn_of(execution, &checks::record_of(execution.view(), id)?)?;
    let greatest: Option<Csn> = change.cookie.iter().copied().chain(held).max();
    if let Some(csn) = greatest {
        execution.attribute_to(csn, apply::via_of(change.via));
    }
    Ok(())
}
