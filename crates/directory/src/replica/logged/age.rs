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

/// How the change stands to the entry.
pub(super) enum Age {
    Newer,
    /// The entry has this CSN, and these changes after it.
    Older(Csn, Newer),
    /// It was taken over with the entry as a whole, which has this CSN then. What was changed here stays.
    Whole(Csn, Own),
}

impl Age {
    /// Finds it out for an entry of this UUID and CSN. A revision counts by another CSN (`csn`) than that of the change
    /// that made it (`told`). `Err`: nothing is to be done.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn of(
        execution: &mut Execution<'_, '_>,
        change: &Replicated,
        (logged, standing): (&ReadLogged, Standing),
        (uuid, held): ([u8; 16], Option<Csn>),
        (csn, told): (Csn, Csn),
    ) -> Result<Result<Self, OutcomeKind>, OperationError> {
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
