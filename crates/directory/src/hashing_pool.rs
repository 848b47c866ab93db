//! Password hashes that take long are computed, and write requests that take long are read, by a few threads, so that they hold up neither a
//! reactor nor a writer.
//!
//! Connections and addresses take turns. Work whose connection has gone, or that was given up, is not done.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;
use ironbark_runtime::{Claimant, FairPool, Shares, Task};
use tokio::sync::oneshot;

use crate::{
    Completion, Directory, OperationError, Source, Started, Submitted, operation::Origin, password, respond,
    writer::Unqueued,
};

/// Where an operation is answered.
pub(crate) type Reply = oneshot::Sender<Completion>;

/// What is computed, and then queued for the writer or answered.
type Compute = Box<dyn FnOnce(Reply) + Send>;

/// The pool.
pub(crate) struct HashingPool {
    threads: FairPool<Source, Work>,
    /// Held while a hash is computed that takes [`LARGE_OCTETS`] or more.
    large: Mutex<()>,
}

/// What an operation has computed.
pub(crate) struct Work {
    directory: Arc<Directory>,
    origin: Origin,
    operation: Operation,
    octets: usize,
    /// `None` when it is done or refused.
    pending: Option<(Reply, Compute)>,
}

impl HashingPool {
    pub(crate) fn new() -> Self {
        Self {
            threads: FairPool::new("hash", Shares::of_cores(WAITING_OCTETS)),
            large: Mutex::new(()),
        }
    }

    /// Whether `presented` is the password behind the stored value. Hashes that take much memory are computed one at a time.
    pub(crate) fn verify(&self, stored: &[u8], presented: &[u8]) -> bool {
        let is_large = password::memory_octets(stored) >= LARGE_OCTETS;
        let _alone = is_large.then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        password::verify(stored, presented)
    }
}

/// Has `compute` run on the pool, for an operation that keeps `octets` meanwhile.
///
/// # Errors
/// `busy`.
pub(crate) fn submit(
    directory: &Arc<Directory>,
    origin: &Origin,
    (operation, octets): (Operation, usize),
    compute: impl FnOnce(Reply) + Send + 'static,
) -> Result<Started, OperationError> {
    let (reply, receiver) = oneshot::channel();
    submit_for(directory, origin, (operation, octets), reply, compute).map_err(|(error, _)| error)?;
    Ok(Started::Submitted(Submitted {
        receiver,
        blocks_connection: operation == Operation::Bind,
    }))
}

/// As [`submit`], when someone waits for the completion already.
///
/// # Errors
/// `busy`, with the way to answer.
pub(crate) fn submit_for(
    directory: &Arc<Directory>,
    origin: &Origin,
    (operation, octets): (Operation, usize),
    reply: Reply,
    compute: impl FnOnce(Reply) + Send + 'static,
) -> Result<(), Unqueued> {
    let claimant = Claimant {
        source: origin.peer.source(),
        connection: origin.connection,
    };
    let work = Work {
        directory: Arc::clone(directory),
        origin: origin.clone(),
        operation,
        octets,
        pending: Some((reply, Box::new(compute))),
    };
    let refused = directory.hashing_pool().threads.submit(claimant, work);
    refused.map_err(|mut work| (busy(), work.pending.take().map(|(reply, _)| reply)))
}

fn busy() -> OperationError {
    OperationError::new(ResultCode::BUSY, "too much work is waiting")
}

impl Work {
    fn answer(&self, reply: Reply, error: OperationError) {
        let completion = respond::write_completion(&self.directory, &self.origin, self.operation, Err(error));
        // The connection may be gone.
        let _ = reply.send(completion);
    }
}

impl Task for Work {
    fn octets(&self) -> usize {
        self.octets
    }

    fn is_wanted(&self) -> bool {
        self.pending.as_ref().is_some_and(|(reply, _)| !reply.is_closed())
    }

    fn run(mut self) {
        let Some((reply, compute)) = self.pending.take() else {
            return;
        };
        if self.origin.stop.stopped().is_some() {
            return self.answer(reply, OperationError::code(ResultCode::CANCELED));
        }
        compute(reply);
    }

    fn refuse(mut self) {
        if let Some((reply, _)) = self.pending.take() {
            self.answer(reply, busy());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Nobody waited for it any more.
        if self.pending.is_some() {
            self.directory.statistics().shared().record_completed(self.operation);
        }
    }
}

/// What may wait: 4,096 small tasks.
const WAITING_OCTETS: usize = 64 << 20;
/// Of hashes that take this much memory one is computed at a time.
const LARGE_OCTETS: usize = 64 << 20;
