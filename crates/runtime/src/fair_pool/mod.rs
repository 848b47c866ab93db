//! A few threads for work that takes milliseconds, shared fairly among those that submit work.
//!
//! Sources (addresses) take turns, and within a source its connections take turns. A source never waits behind all the
//! work of another source; it only waits for a thread. No source gets all threads, and no connection more than half of
//! the cores. The queue is bounded: when it is full, the source with the most waiting work gives way.

mod queue;

use std::{
    hash::Hash,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::queue::Queue;
use crate::{available_cores, spawn_named};

/// A piece of work.
pub trait Task: Send + 'static {
    /// Octets that the task keeps while it waits.
    fn octets(&self) -> usize;
    /// Whether the result is still wanted. An unwanted task is dropped without being run.
    fn is_wanted(&self) -> bool;
    /// Does the work.
    fn run(self);
    /// Tells the task that it was refused: it gave way to a source with less waiting work.
    fn refuse(self);
}

/// The submitter of work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claimant<S> {
    /// The source.
    pub source: S,
    /// The connection of the source.
    pub connection: u64,
}

/// The size of a pool, and how it is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Number of threads. They are started when there is work, and stay.
    pub threads: usize,
    /// Tasks of one source that run at the same time.
    pub per_source: usize,
    /// Tasks of one connection that run at the same time.
    pub per_connection: usize,
    /// Octets that may wait. Each task counts [`Shares::TASK_OCTETS`] more than it keeps. One task may always wait.
    pub waiting_octets: usize,
}

impl Shares {
    /// Octets that each task counts in addition to those that it keeps.
    pub const TASK_OCTETS: usize = 16 << 10;

    /// One thread more than there are cores. No source alone can take all threads, so a new source finds one free.
    pub fn of_cores(waiting_octets: usize) -> Self {
        let cores = available_cores().max(1);
        Self {
            threads: cores + 1,
            per_source: cores,
            per_connection: (cores / 2).max(1),
            waiting_octets,
        }
    }
}

/// The pool. When it is dropped, the waiting tasks are run, and then its threads end.
#[derive(Debug)]
pub struct FairPool<S, T> {
    shared: Arc<Shared<S, T>>,
}

#[derive(Debug)]
struct Shared<S, T> {
    name: &'static str,
    state: Mutex<State<S, T>>,
    woken: Condvar,
}

#[derive(Debug)]
struct State<S, T> {
    queue: Queue<S, T>,
    threads: usize,
    /// Idle threads, and how many of them have been woken for a task.
    idle: usize,
    told: usize,
    is_closed: bool,
}

impl<S: Clone + Eq + Hash + Send + 'static, T: Task> FairPool<S, T> {
    /// A pool whose threads have this name and a number.
    pub fn new(name: &'static str, shares: Shares) -> Self {
        let state = State {
            queue: Queue::new(shares),
            threads: 0,
            idle: 0,
            told: 0,
            is_closed: false,
        };
        Self {
            shared: Arc::new(Shared {
                name,
                state: Mutex::new(state),
                woken: Condvar::new(),
            }),
        }
    }

    /// Queues a task. A thread runs it in its turn.
    ///
    /// # Errors
    /// There is no room for the task, or there are no threads. The task is returned.
    pub fn submit(&self, claimant: Claimant<S>, task: T) -> Result<(), T> {
        let mut state = self.shared.lock();
        let (admitted, gave_way) = state.queue.push(claimant, task);
        let admitted = match admitted {
            Ok(()) => self.shared.find_thread(&mut state),
            refused => refused,
        };
        drop(state);
        gave_way.into_iter().for_each(T::refuse);
        admitted
    }

    /// Drops the waiting tasks of a claimant that has gone.
    pub fn forget(&self, claimant: &Claimant<S>) {
        let dropped = self.shared.lock().queue.forget(claimant);
        drop(dropped);
    }
}

impl<S: Clone + Eq + Hash + Send + 'static, T: Task> Shared<S, T> {
    fn lock(&self) -> MutexGuard<'_, State<S, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that a thread takes the task which was queued last.
    ///
    /// # Errors
    /// There is no thread, and none can be started. The task is returned.
    fn find_thread(self: &Arc<Self>, state: &mut State<S, T>) -> Result<(), T> {
        if state.idle > state.told {
            state.told += 1;
            self.woken.notify_one();
        } else if state.threads < state.queue.shares().threads {
            match self.start_thread(state.threads) {
                Ok(()) => state.threads += 1,
                // The task is the only one in the queue, so it is the one that comes next.
                Err(_) if state.threads == 0 => {
                    let Some((claimant, task)) = state.queue.take() else {
                        return Ok(());
                    };
                    // Nobody runs it: it must not count for its claimant any longer.
                    state.queue.conclude(&claimant);
                    return Err(task);
                }
                // The other threads take it.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn start_thread(self: &Arc<Self>, number: usize) -> io::Result<()> {
        let shared = Arc::clone(self);
        spawn_named(&format!("{}-{number}", self.name), move || shared.serve()).map(drop)
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some((claimant, task)) = state.queue.take() {
                drop(state);
                if task.is_wanted() {
                    // A task that panics ends without an answer. The thread takes the next task.
                    drop(catch_unwind(AssertUnwindSafe(|| task.run())));
                }
                state = self.lock();
                state.queue.conclude(&claimant);
            } else if state.is_closed {
                return;
            } else {
                state.idle += 1;
                state = self
                    .woken
                    .wait_while(state, |state| state.told == 0 && !state.is_closed)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                state.told = state.told.saturating_sub(1);
            }
        }
    }
}

impl<S, T> Drop for FairPool<S, T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        self.shared.woken.notify_all();
    }
}

#[cfg(test)]
mod tests;
