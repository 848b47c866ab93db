//! A few threads for work that takes milliseconds, shared fairly among those who ask for it.
//!
//! Sources (addresses) take turns, and within a source its connections. However much one of them asks for, another one
//! waits for a thread, not for the work that came before. No source has all threads, and no connection more than half
//! of the cores. What waits is bounded: past that, the source with the most work waiting gives way.

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
    /// Octets that it keeps while it waits.
    fn octets(&self) -> usize;
    /// Whether anybody still waits for it. One that nobody waits for is dropped without being run.
    fn is_wanted(&self) -> bool;
    /// Does the work.
    fn run(self);
    /// Says that there is no room for it: it has given way to others, who have less work waiting.
    fn refuse(self);
}

/// Who asks for work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claimant<S> {
    /// Where it comes from.
    pub source: S,
    /// Which of the source's connections it is.
    pub connection: u64,
}

/// How much of a pool there is, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Threads. They are started when there is work for them, and stay.
    pub threads: usize,
    /// Tasks of one source that run at once.
    pub per_source: usize,
    /// Tasks of one connection that run at once.
    pub per_connection: usize,
    /// Octets that may wait. Each task counts for [`Shares::TASK_OCTETS`] more than it keeps; one may always wait.
    pub waiting_octets: usize,
}

impl Shares {
    /// What a task counts for beside what it keeps.
    pub const TASK_OCTETS: usize = 16 << 10;

    /// One thread more than there are cores, which no source alone can take: who comes next finds it free.
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

/// The pool. Its threads end when it is dropped, after what waits.
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
    /// Threads that wait for work, and those of them that have been told of some.
    idle: usize,
    told: usize,
    is_closed: bool,
}

impl<S: Clone + Eq + Hash + Send + 'static, T: Task> FairPool<S, T> {
    /// A pool whose threads are called by this name and a number.
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

    /// Has a task run by one of the threads, in its turn.
    ///
    /// # Errors
    /// There is no room for it, or there are no threads: here it is again.
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

    /// Drops what waits for a claimant that has gone.
    pub fn forget(&self, claimant: &Claimant<S>) {
        let dropped = self.shared.lock().queue.forget(claimant);
        drop(dropped);
    }
}

impl<S: Clone + Eq + Hash + Send + 'static, T: Task> Shared<S, T> {
    fn lock(&self) -> MutexGuard<'_, State<S, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that the task which was queued last is found.
    ///
    /// # Errors
    /// There is no thread, and there can be none: the task again.
    fn find_thread(self: &Arc<Self>, state: &mut State<S, T>) -> Result<(), T> {
        if state.idle > state.told {
            state.told += 1;
            self.woken.notify_one();
        } else if state.threads < state.queue.shares().threads {
            match self.start_thread(state.threads) {
                Ok(()) => state.threads += 1,
                // Alone, so that it is the one which comes next.
                Err(_) if state.threads == 0 => return state.queue.take().map_or(Ok(()), |(_, task)| Err(task)),
                // The others serve it.
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
                    // One that panics ends without an answer, and the thread serves the next.
                    drop(catch_unwind(AssertUnwindSafe(|| task.run())));
                }
                state = self.lock();
                state.queue.ended(&claimant);
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
