//! The parts of a message: changes by themselves, each with its record, in one transaction.

use ironbark_store::WriteTransaction;

use super::incoming::ReplicaOutcome;
use crate::{
    Directory, OperationError,
    backend::{
        conflicts::Conflict,
        queue::Served,
        written::{Executed, Refusal, Success},
    },
    edit::execute::{WRITE_STEPS, execute},
    overlay::{Execution, Requested},
};

/// The parts of a message so far.
pub(super) struct Parts<'j, 't, 'd> {
    directory: &'j Directory,
    served: &'j Served,
    requested: Requested<'j>,
    transaction: &'t mut WriteTransaction<'d>,
    made: Option<Executed>,
    conflicts: Vec<Conflict>,
    has_displaced: bool,
    /// What has become of the changes that were told with an entry.
    further: Vec<ReplicaOutcome>,
}

impl<'j, 't, 'd> Parts<'j, 't, 'd> {
    pub(super) fn new(
        directory: &'j Directory,
        served: &'j Served,
        requested: Requested<'j>,
        transaction: &'t mut WriteTransaction<'d>,
    ) -> Self {
        Self {
            directory,
            served,
            requested,
            transaction,
            made: None,
            conflicts: Vec::new(),
            has_displaced: false,
            further: Vec::new(),
        }
    }

    /// Makes a part.
    ///
    /// # Errors
    /// It was refused. What was made before must be undone.
    pub(super) fn make<T: Default>(
        &mut self,
        act: impl FnOnce(&mut Execution<'_, '_>) -> Result<T, OperationError>,
    ) -> Result<T, Refusal> {
        let mut result = T::default();
        let (conflicts, has_displaced) = (&mut self.conflicts, &mut self.has_displaced);
        let made = execute(
            self.directory,
            self.served,
            self.requested,
            self.transaction,
            WRITE_STEPS,
            |execution| {
                result = act(execution)?;
                conflicts.append(&mut execution.conflicts);
                *has_displaced |= execution.has_displaced;
                Ok(Success::default())
            },
        );
        let is_first = self.made.is_none();
        let (_, made) = made.result.map_err(|refusal| Refusal {
            dirty: refusal.dirty || !is_first,
            ..refusal
        })?;
        self.made = Some(match self.made.take() {
            Some(all) => all.and(made),
            None => made,
        });
        Ok(result)
    }

    /// The view of what was made so far.
    pub(super) fn transaction(&self) -> &WriteTransaction<'d> {
        self.transaction
    }

    /// Notes what has become of a part that is a change told with an entry.
    pub(super) fn note(&mut self, outcome: Option<ReplicaOutcome>) {
        self.further.extend(outcome);
    }

    /// What has become of the message, whose own part has this outcome.
    pub(super) fn end(self, outcome: ReplicaOutcome) -> (ReplicaOutcome, Vec<Conflict>, Executed) {
        let further = self.further.into_iter().flat_map(|further| further.remade);
        let outcome = ReplicaOutcome {
            remade: further.chain(outcome.remade).collect(),
            has_displaced: self.has_displaced,
            ..outcome
        };
        (outcome, self.conflicts, self.made.unwrap_or_default())
    }
}
