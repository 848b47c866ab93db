//! The queue of a writer: each database has one, and all trees in memory share one.
//!
//! Invariants: what a queue has taken is executed and answered, or refused and answered; behind the order to end it
//! takes nothing. A writer goes over to another configuration between two groups of writes, while all other writers
//! wait as well.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
    mpsc::{Receiver, SendError, Sender, channel},
};

use ironbark_model::ResultCode;
use ironbark_store::WriteTransaction;

use super::{
    configuration::Configuration,
    in_memory::Governor,
    naming_context::NamingContext,
    written::{Executed, Refusal, Success, Wanted},
};
use crate::OperationError;

/// Octets of requests that may wait for one writer or be under way; past it the answer is `busy`. One request may
/// always.
const QUEUE_OCTETS: usize = 64 << 20;
/// Octets that a request counts for at least: 16,384 of them may wait.
const REQUEST_OCTETS: usize = 4 << 10;

/// A write that waits for its turn. The queue and the writers know no more of it.
pub(crate) trait WriteTask: Send {
    /// Octets of the request, as a measure of what it writes.
    fn octets(&self) -> usize;

    /// It is its turn, at a time in monotonic microseconds.
    fn taken(&mut self, micros: u64);

    /// Executes in the transaction of a group, under the configuration that the writer serves; may be called again when
    /// the group has to be started over.
    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal>;

    /// What holds its target in a configuration.
    ///
    /// # Errors
    /// Nothing does.
    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError>;

    /// Executes on a tree in memory. It is in force when this returns.
    fn execute_in_memory(
        &self,
        served: &Served,
        governor: &dyn Governor,
    ) -> Result<(Success, Executed), OperationError>;

    /// It has been refused, whatever becomes of its group.
    fn refused(&self, error: &OperationError);

    /// Its group has been committed, or not: answers, tells those who follow the database.
    fn conclude(self: Box<Self>, context: &Arc<NamingContext>, outcome: Outcome);

    /// It could not be queued: answers.
    fn answer(self: Box<Self>, error: OperationError);
}

/// How a write ended, before it is known whether its group commits.
#[allow(
    clippy::large_enum_variant,
    reason = "most writes are done, and a box for each would cost more"
)]
pub(crate) enum Outcome {
    Done(Success, Executed),
    Refused(OperationError),
    /// It will come again, when this has been computed.
    Returned(Wanted),
}

/// A write's share of [`QUEUE_OCTETS`], given back when it has ended.
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

/// Why a write was not queued, and itself, unless the writer has ended.
pub(crate) type Unqueued = (OperationError, Option<Box<dyn WriteTask>>);

/// The sending side of a writer's queue.
#[derive(Clone, Debug)]
pub struct WriterHandle {
    queue: Sender<WriterCommand>,
    /// Octets of the requests that have not ended.
    waiting: Arc<AtomicUsize>,
    /// Why nothing more is taken.
    closed: Arc<RwLock<Option<&'static str>>>,
}

/// What a writer is told.
#[derive(Debug)]
pub(crate) enum WriterCommand {
    /// Execute.
    Task(Queued),
    /// Wait, and go on with another configuration.
    Pause(Pause),
    /// End after what came before.
    Close,
}

/// A write in the queue.
pub(crate) struct Queued {
    pub(crate) task: Box<dyn WriteTask>,
    /// `None`: the server's own.
    _share: Option<Share>,
}

impl Queued {
    /// The server's own, which takes no room from others.
    pub(crate) fn of_server(task: Box<dyn WriteTask>) -> Self {
        Self { task, _share: None }
    }
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued")
            .field("octets", &self.task.octets())
            .finish_non_exhaustive()
    }
}

/// What a writer serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) context: Arc<NamingContext>,
}

/// A writer's side of a pause.
#[derive(Debug)]
pub(crate) struct Pause {
    reached: Sender<()>,
    resume: Receiver<Served>,
}

impl Pause {
    /// Says that everything before is done, and waits. `None`: go on as before. To be dropped when what was served
    /// before has been.
    pub(crate) fn wait(&self) -> Option<Served> {
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
    /// `busy`, `unavailable`.
    pub(crate) fn submit(&self, task: Box<dyn WriteTask>) -> Result<(), Unqueued> {
        let Some(share) = Share::of(task.octets(), &self.waiting) else {
            let busy = OperationError::new(ResultCode::BUSY, "too many writes are waiting");
            return Err((busy, Some(task)));
        };
        // Held while it is queued, so that none comes behind the order to end.
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = *closed {
            return Err((unavailable(reason), Some(task)));
        }
        let queued = Queued {
            task,
            _share: Some(share),
        };
        self.queue
            .send(WriterCommand::Task(queued))
            .map_err(|SendError(order)| match order {
                WriterCommand::Task(queued) => (unavailable(SHUTTING_DOWN), Some(queued.task)),
                WriterCommand::Pause(_) | WriterCommand::Close => (unavailable(SHUTTING_DOWN), None),
            })
    }

    /// Asks the writer to wait behind what it has been given. `None`: it has ended.
    pub(crate) fn pause(&self) -> Option<Pausing> {
        let (reached, its_reached) = channel();
        let (its_resume, resume) = channel();
        let pause = Pause { reached, resume };
        self.queue.send(WriterCommand::Pause(pause)).ok()?;
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
        let _ = self.queue.send(WriterCommand::Close);
    }
}

/// What writes are told while the server ends.
pub(crate) const SHUTTING_DOWN: &str = "server is shutting down";
/// What writes are told that came too late for a database.
pub(crate) const REMOVED: &str = "database is no longer served";

/// Makes a queue and its writer's side.
pub(crate) fn queue() -> (WriterHandle, Receiver<WriterCommand>) {
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
