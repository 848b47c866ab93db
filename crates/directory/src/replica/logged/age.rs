//! How a logged change stands to the entry that is here: newer than all of its changes, older than some, or made
//! before.

use ironbark_store::Csn;

use super::{
    history::{Newer, newer_than},
    read::{ReadLogged, ReadOperation},
};
use crate::{
    OperationError,
    overlay::Execution,
    replica::{
        incoming::{OutcomeKind, Replicated},
        own::Own,
        read::ReadRecent,
    },
};

/// How a change stands to the entry, as far as its provider says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::replica) enum Standing {
    /// It comes from the log.
    Unknown,
    /// It came with the entry as a whole, and is in it. Nothing is left of it, but it is told as one of its changes.
    Contained,
}

/// A change of a provider's log, and the entry that is here.
pub(super) struct ComparedChange<'a> {
    pub(super) logged: &'a ReadLogged,
    pub(super) standing: Standing,
    /// The UUID of the entry.
    pub(super) uuid: [u8; 16],
    /// The CSN of the entry.
    pub(super) held: Option<Csn>,
    /// The CSN by which the change counts. That of a revision is not `told`.
    pub(super) csn: Csn,
    /// The CSN of the change that the provider has told.
    pub(super) told: Csn,
}

/// How the change stands to the entry.
pub(super) enum Age {
    Newer,
    /// The entry has this CSN, and these changes after it.
    Older(Csn, Newer),
    /// It was taken over with the entry as a whole, which has this CSN then. What was changed here stays.
    Whole(Csn, Own),
}

impl Age {
    /// Compares a change with the entry that is here. `Err`: nothing is to be done.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn of(
        execution: &mut Execution<'_, '_>,
        change: &Replicated,
        compared: &ComparedChange<'_>,
    ) -> Result<Result<Self, OutcomeKind>, OperationError> {
        let ComparedChange {
            logged,
            standing,
            uuid,
            held,
            csn,
            told,
        } = *compared;
        let is_settled = matches!(logged.operation, ReadOperation::Settle(..));
        let mapping = &change.mapping;
        let merges = mapping.multi_provider && mapping.merges_values;
        Ok(match (held, &logged.base) {
            (Some(held), Some(base)) => {
                let own = Own::of(execution, change, uuid, &ReadRecent::of(base))?;
                if own.had_more && held >= csn {
                    Err(OutcomeKind::Older)
                } else {
                    Ok(Self::Whole(held.max(csn), own))
                }
            }
            (Some(held), _) if standing == Standing::Contained => Ok(Self::Older(held, Newer::containing())),
            // A single provider is right.
            _ if is_settled && !mapping.multi_provider => Ok(Self::Newer),
            (Some(held), _) if held == csn && !is_settled && !merges => Err(OutcomeKind::Same),
            // The entry of a single provider has all changes up to its own CSN.
            (Some(held), _) if held > csn && !mapping.multi_provider => Err(OutcomeKind::Older),
            // `entryCSN` does not say by which change the entry has its place.
            (Some(held), _) if held >= csn || is_settled => {
                execution.show_changes()?;
                match newer_than(execution.view(), execution.schema(), uuid, csn, told)? {
                    // The entry may have this CSN since it came as a whole, and what was done follows.
                    Some(newer) if newer.is_complete || held > csn || is_settled => Ok(Self::Older(held, newer)),
                    _ => Err(OutcomeKind::Same),
                }
            }
            _ => Ok(Self::Newer),
        })
    }
}
