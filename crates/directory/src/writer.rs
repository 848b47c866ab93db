//! The one writer of a database: takes everything that waits as one group, commits once, then acknowledges.
//!
//! Invariant: a success is sent only after the commit that holds it. Nothing a refused operation did is ever committed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};

use ironbark_config::Checkpoint;
use ironbark_model::ResultCode;
use ironbark_store::{Database, StoreError, WriteTransaction};
use tokio::sync::oneshot;

use crate::{
    Completion, Configuration, Context, Directory, OperationError, change,
    operation::{Executed, Origin},
    respond::{self, Success},
    write_request::WriteRequest,
};

/// Operations that may wait for one database's writer; past it the answer is `busy`.
const QUEUE_LIMIT: usize = 16_384;
/// Octets of requests that may wait or be under way; one request may always.
const QUEUE_OCTETS: usize = 64 << 20;
/// Operations that share one commit at most, so that the first is not kept waiting for ever.
const GROUP_LIMIT: usize = 1_024;

/// One write on its way.
pub(crate) struct Job {
    pub(crate) request: WriteRequest,
    pub(crate) origin: Origin,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) context: Arc<Context>,
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
    queue: SyncSender<Order>,
    /// Octets of the requests that have not ended.
    waiting: Arc<AtomicUsize>,
}

/// What a writer is told.
pub(crate) enum Order {
    /// Execute.
    Job(Box<Queued>),
    /// End after what came before.
    Close,
}

/// A job in the queue.
pub(crate) struct Queued {
    job: Job,
    _share: Share,
}

impl WriterHandle {
    /// Queues a write.
    ///
    /// # Errors
    /// `busy`, `unavailable`; with the way to answer, if the job cannot be queued.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Unqueued> {
        let refuse = |error, order| match order {
            Order::Job(queued) => (error, Some(queued.job.reply)),
            Order::Close => (error, None),
        };
        let busy = || OperationError::new(ResultCode::BUSY, "too many writes are waiting");
        let Some(share) = Share::of(job.request.size(), &self.waiting) else {
            return Err((busy(), Some(job.reply)));
        };
        let queued = Queued { job, _share: share };
        self.queue
            .try_send(Order::Job(Box::new(queued)))
            .map_err(|error| match error {
                TrySendError::Full(order) => refuse(busy(), order),
                TrySendError::Disconnected(order) => refuse(shutting_down(), order),
            })
    }

    /// Ends the writer after what it has been given; waits for room in its queue.
    pub(crate) fn close(&self) {
        // A writer that is gone needs no telling.
        let _ = self.queue.send(Order::Close);
    }
}

/// Makes a queue and its writer.
pub(crate) fn channel() -> (WriterHandle, Receiver<Order>) {
    let (queue, jobs) = sync_channel(QUEUE_LIMIT);
    let waiting = Arc::default();
    (WriterHandle { queue, waiting }, jobs)
}

fn shutting_down() -> OperationError {
    OperationError::new(ResultCode::UNAVAILABLE, "server is shutting down")
}

/// How one job of a group ended, before it is known whether the group commits.
enum Outcome {
    Done(Success, Executed),
    Refused(OperationError),
}

/// Serves a database until it is told to end.
pub(crate) fn run(
    directory: &Directory,
    database: &Database,
    orders: &Receiver<Order>,
    checkpoint: Option<Checkpoint>,
) {
    let mut group = Vec::new();
    let mut flusher = checkpoint.map(|checkpoint| Flusher::new(checkpoint, directory));
    loop {
        let first = match &flusher {
            Some(flusher) => match orders.recv_timeout(flusher.patience(directory)) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            },
            None => match orders.recv() {
                Ok(first) => Some(first),
                Err(_) => return,
            },
        };
        let mut is_open = true;
        if let Some(first) = first {
            is_open = take(first, &mut group);
            while is_open && group.len() < GROUP_LIMIT {
                let next = orders.try_recv().or_else(|_| {
                    // Whoever shares the core may have more for this commit, and quick requests that should not wait for it.
                    std::thread::yield_now();
                    orders.try_recv()
                });
                let Ok(next) = next else { break };
                is_open = take(next, &mut group);
            }
            let octets: usize = group.iter().map(|queued| queued.job.request.size()).sum();
            if !group.is_empty() {
                serve_group(directory, database, &mut group);
            }
            if let Some(flusher) = &mut flusher {
                flusher.written(octets);
            }
        }
        if let Some(flusher) = &mut flusher {
            flusher.flush_when_due(directory, database);
        }
        if !is_open {
            return refuse_waiting(directory, orders);
        }
    }
}

/// Answers what was queued behind the order to end.
fn refuse_waiting(directory: &Directory, orders: &Receiver<Order>) {
    while let Ok(order) = orders.try_recv() {
        if let Order::Job(queued) = order {
            conclude(directory, *queued, Outcome::Refused(shutting_down()));
        }
    }
}

/// `checkpoint`: flushes a database whose commits do not.
struct Flusher {
    octets: u64,
    micros: u64,
    written: u64,
    /// When the first write since the last flush was made.
    since: Option<u64>,
    now: u64,
}

impl Flusher {
    fn new(checkpoint: Checkpoint, directory: &Directory) -> Self {
        Self {
            octets: u64::from(checkpoint.kilobytes) * 1_024,
            micros: u64::from(checkpoint.minutes) * 60_000_000,
            written: 0,
            since: None,
            now: directory.monotonic_micros(),
        }
    }

    /// How long to wait for the next write before looking at the time again.
    fn patience(&self, directory: &Directory) -> Duration {
        const IDLE: Duration = Duration::from_hours(1);
        match self.since {
            Some(since) if self.micros > 0 => {
                Duration::from_micros((since + self.micros).saturating_sub(directory.monotonic_micros()))
            }
            _ => IDLE,
        }
    }

    fn written(&mut self, octets: usize) {
        self.written += octets as u64;
        self.since.get_or_insert(self.now);
    }

    fn flush_when_due(&mut self, directory: &Directory, database: &Database) {
        self.now = directory.monotonic_micros();
        let by_size = self.octets > 0 && self.written >= self.octets;
        let by_time = self.micros > 0 && self.since.is_some_and(|since| self.now >= since + self.micros);
        if !by_size && !by_time {
            return;
        }
        if let Err(error) = database.sync() {
            tracing::error!(target: "any", "checkpoint: {error}");
        }
        self.written = 0;
        self.since = None;
    }
}

/// Adds a job to the group; `false` when there will be no more.
fn take(order: Order, group: &mut Vec<Queued>) -> bool {
    match order {
        Order::Job(queued) => {
            group.push(*queued);
            true
        }
        Order::Close => false,
    }
}

fn serve_group(directory: &Directory, database: &Database, group: &mut Vec<Queued>) {
    // Answers that do not depend on the commit of a group they were not part of.
    let mut settled: Vec<Option<OperationError>> = group.iter().map(|_| None).collect();
    let outcomes = loop {
        match attempt(directory, database, group, &mut settled) {
            Attempt::Committed(outcomes) => break outcomes,
            Attempt::StartOver => {}
        }
    };
    directory.statistics().record_commit(
        outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Outcome::Done(..)))
            .count(),
    );
    for (queued, outcome) in group.drain(..).zip(outcomes) {
        conclude(directory, queued, outcome);
    }
}

enum Attempt {
    Committed(Vec<Outcome>),
    StartOver,
}

fn attempt(
    directory: &Directory,
    database: &Database,
    group: &[Queued],
    settled: &mut [Option<OperationError>],
) -> Attempt {
    let refuse_all = |error: &StoreError, settled: &[Option<OperationError>]| {
        let error = OperationError::of_store(error);
        let outcome = |own: &Option<OperationError>| Outcome::Refused(own.clone().unwrap_or_else(|| error.clone()));
        Attempt::Committed(settled.iter().map(outcome).collect())
    };
    let mut transaction = match database.write() {
        Ok(transaction) => transaction,
        Err(error) => return refuse_all(&error, settled),
    };
    let mut outcomes = Vec::with_capacity(group.len());
    let mut changed = false;
    for (Queued { job, .. }, settled) in group.iter().zip(settled.iter_mut()) {
        if let Some(error) = settled {
            outcomes.push(Outcome::Refused(error.clone()));
            continue;
        }
        match execute(directory, job, &mut transaction) {
            Ok((success, executed)) => {
                changed = true;
                outcomes.push(Outcome::Done(success, executed));
            }
            Err(Refusal { error, dirty: false }) => {
                end_sequence(job, &error);
                outcomes.push(Outcome::Refused(error));
            }
            Err(Refusal { error, dirty: true }) => {
                end_sequence(job, &error);
                *settled = Some(error);
                return Attempt::StartOver;
            }
        }
    }
    if changed && let Err(error) = transaction.commit() {
        return refuse_all(&error, settled);
    }
    Attempt::Committed(outcomes)
}

/// What comes behind a refused operation of a sequence is not executed. An operation that was to change nothing has not failed.
fn end_sequence(job: &Job, error: &OperationError) {
    if error.result_code != ResultCode::NO_OPERATION {
        job.origin.sequence.refuse(job.origin.operation);
    }
}

/// An operation was refused; `dirty` if the transaction holds some of its effects.
struct Refusal {
    error: OperationError,
    dirty: bool,
}

fn execute(
    directory: &Directory,
    job: &Job,
    transaction: &mut WriteTransaction<'_>,
) -> Result<(Success, Executed), Refusal> {
    if job.origin.sequence.has_ended_before(job.origin.operation) || !job.origin.stop.begin() {
        return Err(Refusal {
            error: OperationError::code(ResultCode::CANCELED),
            dirty: false,
        });
    }
    job.request
        .execute(directory, &job.configuration, &job.context, &job.origin, transaction)
        .map_err(|(error, dirty)| Refusal { error, dirty })
}

/// After the commit: tells the overlays and the client.
fn conclude(directory: &Directory, Queued { job, _share }: Queued, outcome: Outcome) {
    let result = match outcome {
        Outcome::Done(success, executed) => {
            change::publish(directory, &job.context, &job.origin, &executed);
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
