//! Changes of another server, from that server's log. They are applied unchanged.
//!
//! Nothing is checked and no overlay acts: the change contains the overlays' effects.

use std::sync::Arc;

use ironbark_store::{Applied, ChangeRecord, WriteTransaction};
use tokio::sync::oneshot;

use crate::{
    Directory, NamingContext, OperationError,
    backend::{
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    refusal::{Failure, WriteRefusal},
    stamp::Ahead,
};

/// The end of a change: it was applied and committed, or had been applied before.
pub type Replayed = Result<Applied, OperationError>;

/// Octets that a change counts for in the queue, besides its names and values.
const OCTETS: usize = 256;

struct Replay {
    directory: Arc<Directory>,
    record: ChangeRecord,
    reply: oneshot::Sender<Replayed>,
}

/// Queues a change of another server's log for a database. Changes of a log must be queued in their order; a change
/// that was applied before is skipped.
///
/// The receiver gets the result after the commit. `unwillingToPerform`: the change lies more than a day ahead of
/// the clock. `other`: the change is of another log, comes too early, or does not fit the entries. A failed change
/// has no effect.
///
/// # Errors
/// `busy`, `unavailable`; `unwillingToPerform` if a log is not possible.
pub fn replay(
    directory: &Arc<Directory>,
    context: &NamingContext,
    record: ChangeRecord,
) -> Result<oneshot::Receiver<Replayed>, OperationError> {
    let writer = context.backend.own_writer().ok_or(WriteRefusal::UnsupportedInContext)?;
    let (reply, receiver) = oneshot::channel();
    let task = Replay {
        directory: Arc::clone(directory),
        record,
        reply,
    };
    writer.submit(Box::new(task)).map_err(|(error, _)| error)?;
    Ok(receiver)
}

impl WriteTask for Replay {
    fn octets(&self) -> usize {
        OCTETS + self.record.octets()
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        if self.directory.observe_csn(self.record.csn) == Ahead::TooFar {
            return Err(OperationError::from(WriteRefusal::TooFarAhead).into());
        }
        let applied = transaction
            .apply(&self.record)
            .map_err(|error| Refusal::dirty(error.into()))?;
        let record = match applied {
            Applied::Now => self.record.clone(),
            Applied::Before => ChangeRecord::default(),
        };
        let executed = Executed {
            record,
            lifts_restriction: false,
            has_notes: false,
        };
        Ok((Success::default(), executed))
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let replayed = match outcome {
            Outcome::Done(_, executed) if executed.record.position.sequence == 0 => Ok(Applied::Before),
            Outcome::Done(..) => Ok(Applied::Now),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The caller may be gone; the change stays valid.
        let _ = self.reply.send(replayed);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
