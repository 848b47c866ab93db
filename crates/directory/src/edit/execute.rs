//! One write in the transaction of its group: the only way to an [`Execution`].

use ironbark_model::Budget;
use ironbark_store::WriteTransaction;

use crate::{
    Directory, OperationError,
    access::SetAnswers,
    backend::{
        queue::Served,
        written::{Executed, Refusal, Success},
    },
    overlay::{AccessWork, Execution, Requested},
    refusal::WriteRefusal,
};

/// Steps that access checks and assertions of a write may take: about 100 milliseconds. They run on the thread that all
/// writes of a database wait for.
pub(crate) const WRITE_STEPS: u64 = 1_000_000;

/// How it ended.
pub(crate) struct Ended {
    pub(crate) result: Result<(Success, Executed), Refusal>,
    /// Steps that it has taken.
    pub(crate) steps: u64,
}

/// Executes a write in the transaction, in this many steps at most.
pub(crate) fn execute(
    directory: &Directory,
    served: &Served,
    requested: Requested<'_>,
    transaction: &mut WriteTransaction<'_>,
    steps: u64,
    act: impl FnOnce(&mut Execution<'_, '_>) -> Result<Success, OperationError>,
) -> Ended {
    let work = AccessWork {
        budget: Budget::new(steps),
        sets: SetAnswers::default(),
    };
    let mut execution = Execution::new(directory, served, requested, transaction, &work);
    let result = match act(&mut execution) {
        // Decisions that were made without remaining steps cannot be trusted.
        _ if work.budget.is_exhausted() => refused(&execution, WriteRefusal::TooMuchWork.into()),
        Err(error) => refused(&execution, error),
        Ok(success) => match execution.finish() {
            Ok(executed) => Ok((success, executed)),
            Err(error) => Err(Refusal::dirty(error)),
        },
    };
    Ended {
        result,
        steps: steps.saturating_sub(work.budget.left()),
    }
}

fn refused<T>(execution: &Execution<'_, '_>, error: OperationError) -> Result<T, Refusal> {
    Err(Refusal {
        error,
        dirty: execution.is_dirty(),
        wanted: execution.take_wanted().map(Box::new),
    })
}
