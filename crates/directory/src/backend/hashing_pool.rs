//! The threads for slow work: they compute slow password hashes, and read write requests that take long to read.

use std::sync::{Mutex, PoisonError};

use ironbark_runtime::{Claimant, FairPool, Shares, Task};

use crate::{password, request::identity::ConnectionSource};

/// A task for the pool.
pub(crate) trait PoolTask: Send {
    /// Octets that it keeps in memory while it waits.
    fn octets(&self) -> usize;
    /// Whether its result is still wanted.
    fn is_wanted(&self) -> bool;
    /// Does the work.
    fn run(self: Box<Self>);
    /// Answers that there is no room for it.
    fn refuse(self: Box<Self>);
    /// Ends it without an answer: there is no room, and the submitter answers.
    fn withdraw(self: Box<Self>);
}

struct Boxed(Box<dyn PoolTask>);

impl Task for Boxed {
    fn octets(&self) -> usize {
        self.0.octets()
    }

    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }

    fn run(self) {
        self.0.run();
    }

    fn refuse(self) {
        self.0.refuse();
    }
}

/// The pool of threads.
pub(crate) struct HashingPool {
    threads: FairPool<ConnectionSource, Boxed>,
    /// Locked while a hash is computed that takes [`LARGE_OCTETS`] or more.
    large: Mutex<()>,
}

impl HashingPool {
    pub(crate) fn new() -> Self {
        Self {
            threads: FairPool::new("hash", Shares::of_cores(WAITING_OCTETS)),
            large: Mutex::new(()),
        }
    }

    /// Queues a task. Requesters take turns.
    ///
    /// # Errors
    /// There is no room. The task comes back.
    pub(crate) fn submit(
        &self,
        claimant: Claimant<ConnectionSource>,
        task: Box<dyn PoolTask>,
    ) -> Result<(), Box<dyn PoolTask>> {
        self.threads.submit(claimant, Boxed(task)).map_err(|Boxed(task)| task)
    }

    /// Whether `presented` is the password of one of some stored values. It ends when the work that one request may
    /// cost is used up.
    pub(crate) fn verify_any(&self, stored: &[Vec<u8>], presented: &[u8]) -> bool {
        let mut allowance = password::Allowance::default();
        let mut stored = stored.iter();
        stored.any(|value| allowance.take(value, presented) && self.verify(value, presented))
    }

    /// Whether `presented` is the password of the stored value. Only one hash with large memory is computed at a time.
    pub(crate) fn verify(&self, stored: &[u8], presented: &[u8]) -> bool {
        let is_large = password::memory_octets(stored) >= LARGE_OCTETS;
        let _alone = is_large.then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        password::verify(stored, presented)
    }
}

/// Octets of waiting tasks: room for 4,096 small ones.
const WAITING_OCTETS: usize = 64 << 20;
/// From this memory use on, only one hash is computed at a time.
const LARGE_OCTETS: usize = 64 << 20;
