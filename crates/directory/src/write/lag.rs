//! How far followers may be behind writes that are answered.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::Directory;

/// Octets of changes that wait, at most.
const MOST_OCTETS: usize = 64 << 20;

/// The groups of changes that were handed to the followers and are not yet taken.
pub(super) struct Lag {
    directory: Arc<Directory>,
    most: Duration,
    waiting: Mutex<Waiting>,
    fewer: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// When each was committed, in microseconds of the monotonic clock, and its octets.
    groups: VecDeque<(u64, usize)>,
    octets: usize,
}

impl Lag {
    pub(super) fn new(directory: &Arc<Directory>, most: Duration) -> Self {
        Self {
            directory: Arc::clone(directory),
            most,
            waiting: Mutex::default(),
            fewer: Condvar::new(),
        }
    }

    /// Whether writes are answered before the followers have taken them.
    pub(super) fn is_allowed(&self) -> bool {
        !self.most.is_zero()
    }

    /// How long changes are still gathered before they are handed over, if that began at `since`. The rest of the time
    /// is for the work itself.
    pub(super) fn gathering(&self, since: u64) -> Duration {
        (self.most / 2).saturating_sub(self.elapsed(since))
    }

    /// Microseconds of the monotonic clock.
    pub(super) fn now(&self) -> u64 {
        self.directory.monotonic_micros()
    }

    fn elapsed(&self, since: u64) -> Duration {
        Duration::from_micros(self.now().saturating_sub(since))
    }

    /// A group was handed over.
    pub(super) fn handed(&self, octets: usize) {
        let now = self.now();
        let mut waiting = self.lock();
        waiting.groups.push_back((now, octets));
        waiting.octets += octets;
    }

    /// The first groups were taken, or were refused.
    pub(super) fn taken(&self, groups: usize) {
        let mut waiting = self.lock();
        let count = groups.min(waiting.groups.len());
        let octets: usize = waiting.groups.drain(..count).map(|(_, octets)| octets).sum();
        waiting.octets -= octets;
        drop(waiting);
        self.fewer.notify_one();
    }

    /// Waits until the followers are near enough. The thread that takes the groups must still run.
    pub(super) fn wait(&self, is_running: impl Fn() -> bool) {
        let mut waiting = self.lock();
        while is_running()
            && (waiting.octets > MOST_OCTETS
                || waiting
                    .groups
                    .front()
                    .is_some_and(|(since, _)| self.elapsed(*since) > self.most))
        {
            let waited = self.fewer.wait_timeout(waiting, LOOK);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a writer that waits looks whether the thread still runs.
const LOOK: Duration = Duration::from_millis(100);
