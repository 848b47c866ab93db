//! Errands of overlays in other databases, on their way through the queue of the database that they change.

use std::sync::Arc;

use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

use crate::{
    Directory, NamingContext, OperationError,
    backend::{
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    edit::execute::{WRITE_STEPS, execute},
    overlay::{Errand, Requested, password_checks::Computed},
    refusal::{Failure, WriteRefusal},
    request::{context::RequestContext, controls::WriteControls},
};

struct ErrandTask {
    directory: Arc<Directory>,
    errand: Arc<dyn Errand>,
    reply: oneshot::Sender<Result<(), OperationError>>,
}

/// Queues an errand in a database. It takes no room from clients: wait for its end before the next one. The
/// receiver gets the result after the commit. A failed errand has no effect.
///
/// # Errors
/// `unavailable`; `unwillingToPerform` if the database has no writer of its own.
pub fn run_errand(
    directory: &Arc<Directory>,
    context: &NamingContext,
    errand: Arc<dyn Errand>,
) -> Result<oneshot::Receiver<Result<(), OperationError>>, OperationError> {
    let writer = context.backend.own_writer().ok_or(WriteRefusal::UnsupportedInContext)?;
    let (reply, receiver) = oneshot::channel();
    let task = ErrandTask {
        directory: Arc::clone(directory),
        errand,
        reply,
    };
    writer.submit_own(Box::new(task))?;
    Ok(receiver)
}

impl WriteTask for ErrandTask {
    fn octets(&self) -> usize {
        0
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        let origin = RequestContext::of_server(served.context.settings.root_dn.clone().unwrap_or_default());
        let computed = Computed::default();
        let mut all = Executed::default();
        for number in 0..self.errand.steps() {
            let requested = Requested {
                origin: &origin,
                controls: WriteControls::default(),
                computed: &computed,
            };
            let done = execute(
                &self.directory,
                served,
                requested,
                transaction,
                WRITE_STEPS,
                |execution| self.errand.step(number, execution).map(|()| Success::default()),
            );
            let (_, executed) = done.result.map_err(|refusal| Refusal {
                dirty: refusal.dirty || all.has_news(),
                ..refusal
            })?;
            all = all.and(executed);
        }
        Ok((Success::default(), all))
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let result = match outcome {
            Outcome::Done(..) => Ok(()),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The overlay may be gone.
        let _ = self.reply.send(result);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
