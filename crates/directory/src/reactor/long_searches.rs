//! Threads for searches with a step that is too long for a reactor.
//!
//! The evaluation of one entry, one filter or one plan cannot be interrupted. A search that cannot finish such a piece
//! within the steps of a turn (`SearchRun::is_long`) continues here, one step at a time. Between two steps it returns
//! to its connection, which sends the output. The threads have a lower priority than reactors, so that the system
//! divides a core between both.
//!
//! The next step is of the source with the fewest steps under way; among these, the one that has waited longest. A
//! connection hands over one search at a time.

use core::net::IpAddr;
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};

use ironbark_runtime::{available_cores, give_way, spawn_named};
use tokio::sync::oneshot;

use crate::{
    Directory,
    request::stop::StopFlag,
    scratch::Scratch,
    search::{Progress, SearchRun},
    statistics::Shard,
};

/// Number of steps that may wait. Beyond that a search is answered with `busy`.
const MOST_WAITING: usize = 4_096;
/// Time after which an idle thread drops its caches of databases and subjects. A database that is to be closed waits
/// for that.
const KEEPS_FOR: Duration = Duration::from_millis(100);

/// A search after a step elsewhere, on its way back to its connection.
pub struct Stepped {
    pub(crate) run: Box<SearchRun>,
    pub(crate) output: Vec<u8>,
    pub(crate) progress: Progress,
    spent: u64,
}

impl Stepped {
    /// Steps of a [`Budget`](ironbark_model::Budget) that this step has used.
    pub fn spent(&self) -> u64 {
        self.spent
    }
}

/// A search whose step runs elsewhere. Dropping this abandons the search.
pub struct HandedOver {
    receiver: oneshot::Receiver<Stepped>,
    stop: StopFlag,
}

impl HandedOver {
    pub(crate) fn new(receiver: oneshot::Receiver<Stepped>, stop: StopFlag) -> Self {
        Self { receiver, stop }
    }
}

impl Future for HandedOver {
    type Output = Result<Stepped, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let stepped = Pin::new(&mut self.receiver).poll(cx);
        if stepped.is_ready() {
            self.stop = StopFlag::default();
        }
        stepped
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        self.stop.abandon();
    }
}

/// The threads. They start when they are needed, and end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct LongSearches {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Signals that a step waits, or that the threads must end.
    wakes: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Task>,
    /// The sources of the steps under way.
    under_way: Vec<Option<IpAddr>>,
    threads: usize,
    idle: usize,
    has_ended: bool,
}

/// One step to take.
struct Task {
    run: Box<SearchRun>,
    answer: oneshot::Sender<Stepped>,
}

impl Task {
    fn source(&self) -> Option<IpAddr> {
        self.run.origin.peer.address
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("source", &self.source())
            .finish_non_exhaustive()
    }
}

impl LongSearches {
    /// Queues a step of a search. Gives the search back if too many wait.
    pub(crate) fn submit(
        &self,
        directory: &Arc<Directory>,
        run: Box<SearchRun>,
    ) -> Result<oneshot::Receiver<Stepped>, Box<SearchRun>> {
        let (answer, receiver) = oneshot::channel();
        let mut queue = self.shared.lock();
        if queue.has_ended || queue.waiting.len() >= MOST_WAITING {
            return Err(run);
        }
        if queue.idle <= queue.waiting.len() && queue.threads < most_threads() {
            let (shared, directory) = (Arc::clone(&self.shared), Arc::downgrade(directory));
            let started = spawn_named(&format!("long-{}", queue.threads), move || serve(&shared, &directory));
            if started.is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                return Err(run);
            }
        }
        queue.waiting.push_back(Task { run, answer });
        drop(queue);
        self.shared.wakes.notify_one();
        Ok(receiver)
    }

    /// Refuses further steps and ends the threads, so that they hold nothing of the directory.
    pub(crate) fn end(&self) {
        let mut queue = self.shared.lock();
        queue.has_ended = true;
        queue.waiting.clear();
        drop(queue);
        self.shared.wakes.notify_all();
    }
}

impl Drop for LongSearches {
    fn drop(&mut self) {
        self.end();
    }
}

fn most_threads() -> usize {
    available_cores().max(2)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next step. `None`: the thread must drop its caches, or end.
    fn next(&self, forgets: bool) -> Option<Task> {
        let mut queue = self.lock();
        loop {
            if queue.has_ended {
                return None;
            }
            if let Some(task) = queue.take() {
                return Some(task);
            }
            queue.idle += 1;
            let has_waited_enough;
            (queue, has_waited_enough) = if forgets {
                let (queue, waited) = self
                    .wakes
                    .wait_timeout(queue, KEEPS_FOR)
                    .unwrap_or_else(PoisonError::into_inner);
                (queue, waited.timed_out())
            } else {
                (self.wakes.wait(queue).unwrap_or_else(PoisonError::into_inner), false)
            };
            queue.idle -= 1;
            if has_waited_enough && queue.waiting.is_empty() {
                return None;
            }
        }
    }
}

impl Queue {
    /// Takes the step whose source has the fewest under way; among these, the one that has waited longest.
    fn take(&mut self) -> Option<Task> {
        let busy = |task: &Task| self.under_way.iter().filter(|source| **source == task.source()).count();
        let place = (0..self.waiting.len()).min_by_key(|at| self.waiting.get(*at).map(busy))?;
        let task = self.waiting.remove(place)?;
        self.under_way.push(task.source());
        Some(task)
    }

    fn has_stepped(&mut self, source: Option<IpAddr>) {
        if let Some(place) = self.under_way.iter().position(|held| *held == source) {
            self.under_way.swap_remove(place);
        }
    }
}

fn serve(shared: &Shared, directory: &Weak<Directory>) {
    // A failure is not worth a message: the thread then has the priority of a reactor.
    let _ = give_way();
    let mut counters: Option<Arc<Shard>> = None;
    let mut scratch: Option<Scratch> = None;
    loop {
        let Some(Task { mut run, answer }) = shared.next(scratch.is_some()) else {
            if scratch.take().is_none() {
                return;
            }
            continue;
        };
        let source = run.origin.peer.address;
        let made = scratch.take().or_else(|| {
            let directory = directory.upgrade()?;
            let own = counters.get_or_insert_with(|| directory.statistics().new_shard());
            Some(Scratch::new(Arc::clone(&directory), Arc::clone(own)))
        });
        let Some(mut made) = made else { return };
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            let mut output = Vec::new();
            // A turn has no limit here, but its steps are counted.
            made.turn_left = u64::MAX;
            let progress = run.step(&mut made, &mut output);
            let spent = u64::MAX - made.turn_left;
            made.rest();
            let stepped = Stepped {
                run,
                output,
                progress,
                spent,
            };
            (stepped, made)
        }));
        shared.lock().has_stepped(source);
        // After a panic the state of the search is unknown. Without an answer its connection is closed.
        if let Ok((stepped, made)) = stepped {
            scratch = Some(made);
            // The connection may be gone.
            let _ = answer.send(stepped);
        }
    }
}
