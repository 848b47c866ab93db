//! Writers: a queue and a thread for each database, and one for all trees in memory.
//!
//! Invariants: what a queue has taken is executed and answered, or refused and answered; behind the order to end it takes nothing. A
//! writer goes over to another configuration between two groups of writes, while all other writers wait as well.

mod flusher;
mod indexing;
mod stored;
mod trees;

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
    mpsc::{Receiver, SendError, Sender, channel},
};

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;
use tokio::sync::oneshot;

use crate::{
    Completion, Configuration, Context, Directory, OperationError, change,
    operation::{Executed, Origin, Wanted},
    respond::{self, Success},
    write_request::{WriteRequest, compute_and_queue},
};

pub(crate) use stored::run as run_stored;
pub(crate) use trees::run as run_trees;

/// Octets of requests that may wait for one writer or be under way; past it the answer is `busy`. One request may always.
const QUEUE_OCTETS: usize = 64 << 20;
/// Octets that a request counts for at least: 16,384 of them may wait.
const REQUEST_OCTETS: usize = 4 << 10;

/// One write on its way.
pub(crate) struct Job {
    pub(crate) request: WriteRequest,
    pub(crate) origin: Origin,
    /// What the request was read under.
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) reply: oneshot::Sender<Completion>,
}

/// A job's share of [`QUEUE_OCTETS`], given back when the job has ended.
struct Share {
    octets: usize,
    waiting: Arc<AtomicUsize>,
}

impl Share {
    /// `None` when there is no room.
    fn of(octets: usize, waiting: &Arc<AtomicUsize>) -> Option<Self> {
        let octets = octets.max(REQUEST_OCTETS);
        let before = waiting.fetch_add(octets, Ordering::Relaxed);
        let share = Self {
            octets,
            waiting: Arc::clone(waiting),
        };
        (before == 0 || before.saturating_add(octets) <= QUEUE_OCTETS).then_some(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

/// Why a job was not queued, and the way to answer.
pub(crate) type Unqueued = (OperationError, Option<oneshot::Sender<Completion>>);

/// The sending side of a writer's queue.
#[derive(Clone, Debug)]
pub struct WriterHandle {
    queue: Sender<Order>,
    /// Octets of the requests that have not ended.
    waiting: Arc<AtomicUsize>,
    /// Why nothing more is taken.
    closed: Arc<RwLock<Option<&'static str>>>,
}

/// What a writer is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// Execute.
    Job(Box<Queued>),
    /// Wait, and go on with another configuration.
    Pause(Pause),
    /// End after what came before.
    Close,
}

/// A job in the queue.
pub(crate) struct Queued {
    job: Job,
    _share: Share,
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued")
            .field("origin", &self.job.origin)
            .finish_non_exhaustive()
    }
}

/// What a writer serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) context: Arc<Context>,
}

/// A writer's side of a pause.
#[derive(Debug)]
pub(crate) struct Pause {
    reached: Sender<()>,
    resume: Receiver<Served>,
}

impl Pause {
    /// Says that everything before is done, and waits. `None`: go on as before. To be dropped when what was served before has been.
    fn wait(&self) -> Option<Served> {
        // Nobody waits for it any more: then there is no answer either.
        let _ = self.reached.send(());
        self.resume.recv().ok()
    }
}

/// The other side: the writer has been told, and goes on when this is dropped.
#[derive(Debug)]
pub(crate) struct Pausing {
    reached: Receiver<()>,
    resume: Sender<Served>,
}

impl Pausing {
    /// Waits until the writer has done everything before; `false`: it has ended.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.recv().is_ok()
    }

    /// Lets the writer go on, serving something else.
    pub(crate) fn resume(self, served: Served) -> Resumed {
        // A writer that panicked meanwhile has said so.
        let _ = self.resume.send(served);
        Resumed(self.reached)
    }
}

/// A writer that goes over to something else.
pub(crate) struct Resumed(Receiver<()>);

impl Resumed {
    /// Waits until the writer has let go of what it served before, whose databases and overlays are to be closed.
    pub(crate) fn wait(self) {
        // Nothing is sent: the other end is dropped.
        let _ = self.0.recv();
    }
}

impl WriterHandle {
    /// Of a database that nobody writes to.
    pub(crate) fn nowhere() -> Self {
        let (queue, _) = channel();
        Self {
            queue,
            waiting: Arc::default(),
            closed: Arc::new(RwLock::new(Some(SHUTTING_DOWN))),
        }
    }

    /// Queues a write.
    ///
    /// # Errors
    /// `busy`, `unavailable`; with the way to answer, if the job cannot be queued.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Unqueued> {
        let Some(share) = Share::of(job.request.size(), &self.waiting) else {
            let busy = OperationError::new(ResultCode::BUSY, "too many writes are waiting");
            return Err((busy, Some(job.reply)));
        };
        // Held while the job is queued, so that none comes behind the order to end.
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = *closed {
            return Err((unavailable(reason), Some(job.reply)));
        }
        let queued = Queued { job, _share: share };
        self.queue
            .send(Order::Job(Box::new(queued)))
            .map_err(|SendError(order)| match order {
                Order::Job(queued) => (unavailable(SHUTTING_DOWN), Some(queued.job.reply)),
                Order::Pause(_) | Order::Close => (unavailable(SHUTTING_DOWN), None),
            })
    }

    /// Asks the writer to wait behind what it has been given. `None`: it has ended.
    pub(crate) fn pause(&self) -> Option<Pausing> {
        let (reached, its_reached) = channel();
        let (its_resume, resume) = channel();
        let pause = Pause { reached, resume };
        self.queue.send(Order::Pause(pause)).ok()?;
        Some(Pausing {
            reached: its_reached,
            resume: its_resume,
        })
    }

    /// Ends the writer after what it has been given. `reason` is what further writes are told.
    pub(crate) fn close(&self, reason: &'static str) {
        {
            let mut closed = self.closed.write().unwrap_or_else(PoisonError::into_inner);
            if closed.is_some() {
                return;
            }
            *closed = Some(reason);
        }
        // A writer that is gone needs no telling.
        let _ = self.queue.send(Order::Close);
    }
}

/// What writes are told while the server ends.
pub(crate) const SHUTTING_DOWN: &str = "server is shutting down";
/// What writes are told that came too late for a database.
pub(crate) const REMOVED: &str = "database is no longer served";

/// Makes a queue and its writer's side.
pub(crate) fn queue() -> (WriterHandle, Receiver<Order>) {
    let (queue, orders) = channel();
    let handle = WriterHandle {
        queue,
        waiting: Arc::default(),
        closed: Arc::default(),
    };
    (handle, orders)
}

fn unavailable(reason: &'static str) -> OperationError {
    OperationError::new(ResultCode::UNAVAILABLE, reason)
}

/// How one job ended, before it is known whether its group commits.
enum Outcome {
    Done(Success, Executed),
    Refused(OperationError),
    /// It will come again, when this has been computed.
    Returned(Wanted),
}

/// Whether a job may still be executed; from here on it cannot be canceled.
///
/// # Errors
/// `canceled`.
fn begin(job: &Job) -> Result<(), OperationError> {
    if job.origin.sequence.has_ended_before(job.origin.operation) || !job.origin.stop.begin() {
        return Err(OperationError::code(ResultCode::CANCELED));
    }
    Ok(())
}

/// What comes behind a refused operation of a sequence is not executed. An operation that was to change nothing has not failed.
fn end_sequence(job: &Job, error: &OperationError) {
    if error.result_code != ResultCode::NO_OPERATION {
        job.origin.sequence.refuse(job.origin.operation);
    }
}

/// After the commit: tells the overlays and the client.
fn conclude(directory: &Arc<Directory>, context: &Arc<Context>, Queued { job, _share }: Queued, outcome: Outcome) {
    let result = match outcome {
        Outcome::Returned(wanted) => return compute_and_queue(directory, context, job, wanted),
        Outcome::Done(success, executed) => {
            let is_record = job.request.operation() != Operation::Bind || !executed.record.effects.is_empty();
            if is_record {
                change::publish(directory, context, &job.origin, &executed);
            }
            if executed.lifts_restriction {
                job.origin.restriction.set(false);
            }
            Ok(success)
        }
        Outcome::Refused(error) => {
            // The whole group, when it could not be committed.
            end_sequence(&job, &error);
            Err(error)
        }
    };
    let completion = respond::write_completion(directory, &job.origin, job.request.operation(), result);
    // The connection may be gone; the write stands all the same.
    let _ = job.reply.send(completion);
}
