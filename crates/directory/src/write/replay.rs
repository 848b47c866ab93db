//! A change that another server has made, as it comes from that server's log: it is applied as it is.
//!
//! Nothing is checked and no overlay acts: what they have done is in the change.

use std::sync::Arc;

use ironbark_model::ResultCode;
use ironbark_store::{Applied, ChangeRecord, WriteTransaction};
use tokio::sync::oneshot;

use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        in_memory::{Governor, unsupported},
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    stamp::Ahead,
};

/// How a change ended: whether it was applied, and committed, or had been before.
pub type Replayed = Result<Applied, OperationError>;

/// Octets that a change counts for in the queue besides its names and values.
const OCTETS: usize = 256;

struct Replay {
    directory: Arc<Directory>,
    record: ChangeRecord,
    reply: oneshot::Sender<Replayed>,
}

impl Directory {
    /// Puts a change of another server's log into the queue of a database. Changes of a log are to be queued in their
    /// order; one that was applied before is passed over.
    ///
    /// The receiver hears of the end after the commit: `unwillingToPerform` for a change that lies more than a day
    /// ahead of the clock, `other` for one of another log, one that comes too early, and one that does not fit the
    /// entries. Nothing of it is there then.
    ///
    /// # Errors
    /// `busy`, `unavailable`; `unwillingToPerform` where no log can be.
    pub fn replay(
        self: &Arc<Self>,
        context: &NamingContext,
        record: ChangeRecord,
    ) -> Result<oneshot::Receiver<Replayed>, OperationError> {
        let writer = context.backend.own_writer().ok_or_else(unsupported)?;
        let (reply, receiver) = oneshot::channel();
        let task = Replay {
            directory: Arc::clone(self),
            record,
            reply,
        };
        writer.submit(Box::new(task)).map_err(|(error, _)| error)?;
        Ok(receiver)
    }
}

impl WriteTask for Replay {
    fn octets(&self) -> usize {
        OCTETS + self.record.octets()
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        if self.directory.observe_csn(self.record.csn) == Ahead::TooFar {
            let text = "the change lies more than a day ahead of the clock";
            return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text).into());
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
        };
        Ok((Success::default(), executed))
    }

    fn served(&self, _: &Arc<Configuration>) -> Result<Served, OperationError> {
        Err(unsupported())
    }

    fn execute_in_memory(&self, _: &Served, _: &dyn Governor) -> Result<(Success, Executed), OperationError> {
        Err(unsupported())
    }

    fn refused(&self, _: &OperationError) {}

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let replayed = match outcome {
            Outcome::Done(_, executed) if executed.record.position.sequence == 0 => Ok(Applied::Before),
            Outcome::Done(..) => Ok(Applied::Now),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(OperationError::code(ResultCode::OTHER)),
        };
        // Who brought it may be gone; the change stands all the same.
        let _ = self.reply.send(replayed);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
