//! The threads that compute password hashes which take long, and read write requests that take long.

use std::sync::{Mutex, PoisonError};

use ironbark_runtime::{Claimant, FairPool, Shares, Task};

use crate::{password, request::identity::Source};

/// Work for the pool.
pub(crate) trait PoolTask: Send {
    /// Octets that it keeps while it waits.
    fn octets(&self) -> usize;
    /// Whether anybody still waits for it.
    fn is_wanted(&self) -> bool;
    /// Does the work.
    fn run(self: Box<Self>);
    /// Says that there is no room for it.
    fn refuse(self: Box<Self>);
    /// There is no room for it, and whoever brought it says so.
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

/// The pool.
pub(crate) struct HashingPool {
    threads: FairPool<Source, Boxed>,
    /// Held while a hash is computed that takes [`LARGE_OCTETS`] or more.
    large: Mutex<()>,
}

impl HashingPool {
    pub(crate) fn new() -> Self {
        Self {
            threads: FairPool::new("hash", Shares::of_cores(WAITING_OCTETS)),
            large: Mutex::new(()),
        }
    }

    /// Has work done in its turn.
    ///
    /// # Errors
    /// There is no room: here it is again.
    pub(crate) fn submit(&self, claimant: Claimant<Source>, task: Box<dyn PoolTask>) -> Result<(), Box<dyn PoolTask>> {
        self.threads.submit(claimant, Boxed(task)).map_err(|Boxed(task)| task)
    }

    /// Whether `presented` is the password behind the stored value. Hashes that take much memory are computed one at a
    /// time.
    pub(crate) fn verify(&self, stored: &[u8], presented: &[u8]) -> bool {
        let is_large = password::memory_octets(stored) >= LARGE_OCTETS;
        let _alone = is_large.then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        password::verify(stored, presented)
    }
}

/// What may wait: 4,096 small tasks.
const WAITING_OCTETS: usize = 64 << 20;
/// Of hashes that take this much memory one is computed at a time.
const LARGE_OCTETS: usize = 64 << 20;
