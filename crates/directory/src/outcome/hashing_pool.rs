//! A few threads compute slow password hashes and read slow write requests, so that these hold up neither a reactor nor
//! a writer.
//!
//! Connections and addresses take turns. Work is skipped if its connection has gone or it was abandoned.

use std::sync::Arc;

use ironbark_ldap_proto::Operation;
use tokio::sync::oneshot;

use super::{
    completion::{Begun, Completion, Submitted},
    respond,
};
use crate::{
    Directory, OperationError, backend::hashing_pool::PoolTask, refusal::RequestRefusal,
    request::context::RequestContext,
};

/// Where an operation is answered.
pub(crate) type Reply = oneshot::Sender<Completion>;

/// Computes, and then queues the result for the writer or answers.
type Compute = Box<dyn FnOnce(Reply) + Send>;

/// The computation of an operation.
struct Work {
    directory: Arc<Directory>,
    origin: RequestContext,
    operation: Operation,
    octets: usize,
    /// `None` when it is done or refused.
    pending: Option<(Reply, Compute)>,
}

/// Runs `compute` on the pool, for an operation that holds `octets` meanwhile.
///
/// # Errors
/// `busy`.
pub(crate) fn submit(
    directory: &Arc<Directory>,
    origin: &RequestContext,
    operation: Operation,
    octets: usize,
    compute: impl FnOnce(Reply) + Send + 'static,
) -> Result<Begun, OperationError> {
    let (reply, receiver) = oneshot::channel();
    if let Err(work) = submit_work(directory, origin, operation, octets, reply, Box::new(compute)) {
        work.withdraw();
        return Err(RequestRefusal::TooMuchWork.into());
    }
    Ok(Begun::Submitted(Submitted {
        receiver,
        blocks_connection: operation == Operation::Bind,
    }))
}

/// As [`submit`], when someone already waits for the completion. If there is no room, that one is told.
pub(crate) fn submit_for(
    directory: &Arc<Directory>,
    origin: &RequestContext,
    operation: Operation,
    octets: usize,
    reply: Reply,
    compute: impl FnOnce(Reply) + Send + 'static,
) {
    if let Err(work) = submit_work(directory, origin, operation, octets, reply, Box::new(compute)) {
        work.refuse();
    }
}

fn submit_work(
    directory: &Arc<Directory>,
    origin: &RequestContext,
    operation: Operation,
    octets: usize,
    reply: Reply,
    compute: Compute,
) -> Result<(), Box<dyn PoolTask>> {
    let work = Work {
        directory: Arc::clone(directory),
        origin: origin.clone(),
        operation,
        octets,
        pending: Some((reply, compute)),
    };
    directory.hashing_pool().submit(origin.claimant(), Box::new(work))
}

impl Work {
    fn answer(&self, reply: Reply, error: OperationError) {
        let completion = respond::write_completion(&self.directory, &self.origin, self.operation, Err(error));
        // The connection may be gone.
        let _ = reply.send(completion);
    }
}

impl PoolTask for Work {
    fn octets(&self) -> usize {
        self.octets
    }

    fn is_wanted(&self) -> bool {
        self.pending.as_ref().is_some_and(|(reply, _)| !reply.is_closed())
    }

    fn run(mut self: Box<Self>) {
        let Some((reply, compute)) = self.pending.take() else {
            return;
        };
        if self.origin.stop.stopped().is_some() {
            return self.answer(reply, RequestRefusal::Canceled.into());
        }
        compute(reply);
    }

    fn refuse(mut self: Box<Self>) {
        if let Some((reply, _)) = self.pending.take() {
            self.answer(reply, RequestRefusal::TooMuchWork.into());
        }
    }

    fn withdraw(mut self: Box<Self>) {
        self.pending = None;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Nobody waits for it any more.
        if self.pending.is_some() {
            self.directory.statistics().shared().record_completed(self.operation);
        }
    }
}
