//! The queues of writers. Each stored database has one; all trees in memory share one.
//!
//! Invariants: a queue executes or refuses each write that it takes, and answers it. After the command to close it
//! takes nothing. A writer changes to another configuration between two groups of writes, while all other writers wait
//! too.

use std::{
    cell::Cell,
    sync::{
        Arc, PoisonError, RwLock,
        mpsc::{Receiver, SendError, Sender, channel},
    },
};

use ironbark_runtime::Claimant;
use ironbark_store::WriteTransaction;

use super::{
    commit_log::LogSlot,
    configuration::Configuration,
    feed::Feed,
    fence::Fence,
    in_memory::Governor,
    naming_context::NamingContext,
    room::{Room, Share},
    written::{Executed, Refusal, Success, Wanted},
};
use crate::{
    OperationError,
    refusal::{QueueRefusal, WriteRefusal},
    request::identity::ConnectionSource,
};

/// A write that waits for its turn. The queue and the writers know nothing else of it.
pub(crate) trait WriteTask: Send {
    /// Size of the request in octets, which estimates how much it writes.
    fn octets(&self) -> usize;

    /// Whose it is. Writes of one claimant are executed in their order.
    fn claimant(&self) -> Claimant<ConnectionSource> {
        of_server()
    }

    /// Tells that its turn has come. `micros` is monotonic time in microseconds.
    fn taken(&mut self, micros: u64);

    /// Executes in the transaction of a group, under the configuration that the writer serves. This may be called
    /// again, if the group has to start over.
    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal>;

    /// Whether it only counts if the database has all that the log of its cluster has.
    fn reads_newest(&self) -> bool {
        false
    }

    /// The database that holds its target in `configuration`. A task for stored databases alone has none.
    ///
    /// # Errors
    /// No database holds it.
    fn served(&self, _configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    /// Executes on a tree in memory. The change is in force when this returns.
    fn execute_in_memory(
        &self,
        _served: &Served,
        _governor: &dyn Governor,
    ) -> Result<(Success, Executed), OperationError> {
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    /// Tells that the write is refused: what depends on it is not executed.
    fn refused(&self, _error: &OperationError) {}

    /// Tells that the write is executed again, and that a refusal of it does not count.
    fn comes_again(&self) {}

    /// Ends the write after its group has been committed, or not: answers it, and tells the followers of the database.
    fn conclude(self: Box<Self>, context: &Arc<NamingContext>, outcome: Outcome);

    /// Answers a write that could not be queued.
    fn answer(self: Box<Self>, error: OperationError);
}

/// The claimant of the server's own writes, and of what comes from other servers.
fn of_server() -> Claimant<ConnectionSource> {
    Claimant {
        source: ConnectionSource::Server,
        connection: u64::MAX,
    }
}

/// The outcome of a write, before its group is committed.
#[allow(
    clippy::large_enum_variant,
    reason = "most writes are done, and a box for each would cost more"
)]
pub(crate) enum Outcome {
    Done(Success, Executed),
    Refused(OperationError),
    /// The write comes again after this has been computed.
    Returned(Wanted),
}

/// The reason why a write was not queued, with the write itself unless the writer has ended.
pub(crate) type Unqueued = (OperationError, Option<Box<dyn WriteTask>>);

/// The sending side of a writer's queue.
#[derive(Clone, Debug)]
pub struct WriterHandle {
    queue: Sender<WriterCommand>,
    /// The room for requests.
    room: Arc<Room>,
    /// The reason why the queue takes nothing more.
    closed: Arc<RwLock<Option<QueueRefusal>>>,
    /// What the writer has committed.
    feed: Arc<Feed>,
    /// What it is about to commit.
    fence: Arc<Fence>,
    /// The log of the cluster, if the database is part of one.
    log: Arc<LogSlot>,
}

/// A command to a writer.
#[derive(Debug)]
pub(crate) enum WriterCommand {
    /// Execute this write.
    Task(Queued),
    /// Apply what the log of the cluster has brought.
    Received,
    /// Wait, then continue under another configuration.
    Pause(Pause),
    /// End after everything that came before.
    Close,
}

/// A write in the queue.
pub(crate) struct Queued {
    pub(crate) task: Box<dyn WriteTask>,
    pub(crate) claimant: Claimant<ConnectionSource>,
    /// Microseconds for which it has been executed.
    pub(crate) micros: Cell<u64>,
    /// Those that were expected when its turn came.
    pub(crate) expected: u64,
    /// `None` for the server's own writes.
    share: Option<Share>,
}

impl Queued {
    fn new(task: Box<dyn WriteTask>, share: Option<Share>) -> Self {
        Self {
            claimant: task.claimant(),
            task,
            micros: Cell::default(),
            expected: 0,
            share,
        }
    }

    /// A write of the server itself. It takes no room from clients.
    pub(crate) fn of_server(task: Box<dyn WriteTask>) -> Self {
        Self::new(task, None)
    }
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued")
            .field("octets", &self.task.octets())
            .finish_non_exhaustive()
    }
}

/// The configuration and database that a writer serves.
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
    /// Reports that everything before is done, and waits. `None`: continue as before. Drop this only after the former
    /// `Served` is dropped.
    pub(crate) fn wait(&self) -> Option<Served> {
        // If the other side is gone, `recv` fails too.
        let _ = self.reached.send(());
        self.resume.recv().ok()
    }
}

/// The other side of a pause. The writer has the command; it continues when this is dropped.
#[derive(Debug)]
pub(crate) struct Pausing {
    reached: Receiver<()>,
    resume: Sender<Served>,
}

impl Pausing {
    /// Waits until the writer has done everything before. `false`: the writer has ended.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.recv().is_ok()
    }

    /// Lets the writer continue with another `Served`.
    pub(crate) fn resume(self, served: Served) -> Resumed {
        // A writer that panicked in the meantime has logged it.
        let _ = self.resume.send(served);
        Resumed(self.reached)
    }
}

/// A writer that changes to another `Served`.
pub(crate) struct Resumed(Receiver<()>);

impl Resumed {
    /// Waits until the writer has dropped its former `Served`, so that unused databases and overlays can be closed.
    pub(crate) fn wait(self) {
        // Nothing is ever sent: `recv` ends when the writer drops its end.
        let _ = self.0.recv();
    }
}

impl WriterHandle {
    /// The handle of a database that takes no writes.
    pub(crate) fn nowhere() -> Self {
        let (queue, _) = channel();
        Self {
            queue,
            room: Arc::default(),
            closed: Arc::new(RwLock::new(Some(QueueRefusal::ShuttingDown))),
            feed: Arc::default(),
            fence: Arc::default(),
            log: Arc::default(),
        }
    }

    /// The log of the cluster.
    pub(crate) fn log(&self) -> &LogSlot {
        &self.log
    }

    /// The log of the cluster has brought something.
    pub(crate) fn received(&self) {
        // A writer that has ended applies nothing.
        let _ = self.queue.send(WriterCommand::Received);
    }

    /// The changes under way.
    pub(crate) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// What the writer has committed.
    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Whether writes of clients wait beside these.
    pub(crate) fn has_more_than(&self, group: &[Queued]) -> bool {
        let shares = group.iter().filter_map(|queued| queued.share.as_ref());
        self.room.octets() > shares.map(Share::octets).sum()
    }

    /// Queues a write.
    ///
    /// # Errors
    /// `busy`, `unavailable`.
    pub(crate) fn submit(&self, task: Box<dyn WriteTask>) -> Result<(), Unqueued> {
        let Some(share) = self.room.share(task.claimant(), task.octets()) else {
            return Err((QueueRefusal::Full.into(), Some(task)));
        };
        // This lock is held until the write is queued, so that no write comes after the command to close.
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = *closed {
            return Err((reason.into(), Some(task)));
        }
        let queued = Queued::new(task, Some(share));
        self.queue
            .send(WriterCommand::Task(queued))
            .map_err(|SendError(order)| match order {
                WriterCommand::Task(queued) => (QueueRefusal::ShuttingDown.into(), Some(queued.task)),
                WriterCommand::Pause(_) | WriterCommand::Close | WriterCommand::Received => {
                    (QueueRefusal::ShuttingDown.into(), None)
                }
            })
    }

    /// Queues a write of the server itself. It takes no room from clients: the caller waits for one before the next.
    ///
    /// # Errors
    /// `unavailable`.
    pub(crate) fn submit_own(&self, task: Box<dyn WriteTask>) -> Result<(), OperationError> {
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = *closed {
            return Err(reason.into());
        }
        let queued = WriterCommand::Task(Queued::of_server(task));
        self.queue.send(queued).map_err(|_| QueueRefusal::ShuttingDown.into())
    }

    /// Waits until there is room for a write of this size that another server has made, or the queue takes nothing
    /// more. Others may take the room before the caller does.
    pub(crate) async fn room(&self, octets: usize) {
        let is_closed = || self.closed.read().unwrap_or_else(PoisonError::into_inner).is_some();
        self.room.wait(of_server(), octets, is_closed).await;
    }

    /// Asks the writer to wait after everything that it has been given. `None`: the writer has ended.
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

    /// Lets the thread of the trees look at the configuration, which has changed.
    pub(crate) fn nudge(&self) {
        // It does not wait for a pause to end.
        drop(self.pause());
    }

    /// Ends the writer after everything that it has been given. Later writes are refused with `reason`.
    pub(crate) fn close(&self, reason: QueueRefusal) {
        {
            let mut closed = self.closed.write().unwrap_or_else(PoisonError::into_inner);
            if closed.is_some() {
                return;
            }
            *closed = Some(reason);
        }
        self.feed.call();
        // A writer that has ended needs no command.
        let _ = self.queue.send(WriterCommand::Close);
    }
}

/// Makes a queue and its writer's side.
pub(crate) fn queue() -> (WriterHandle, Receiver<WriterCommand>) {
    let (queue, orders) = channel();
    let handle = WriterHandle {
        queue,
        room: Arc::default(),
        closed: Arc::default(),
        feed: Arc::default(),
        fence: Arc::default(),
        log: Arc::default(),
    };
    (handle, orders)
}
