//! Counters of the whole server, for cn=Monitor and metrics. Relaxed atomics: each is exact, none orders anything.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ironbark_ldap_proto::Operation;

/// The counters.
#[derive(Debug, Default)]
pub struct Statistics {
    initiated: [AtomicU64; Operation::ALL.len()],
    completed: [AtomicU64; Operation::ALL.len()],
    entries: AtomicU64,
    references: AtomicU64,
    unindexed_searches: AtomicU64,
    commits: AtomicU64,
    committed_writes: AtomicU64,
    /// Octets sent.
    pub octets_sent: AtomicU64,
    /// PDUs sent.
    pub pdus_sent: AtomicU64,
}

fn index(operation: Operation) -> usize {
    Operation::ALL
        .iter()
        .position(|known| *known == operation)
        .unwrap_or_default()
}

impl Statistics {
    pub(crate) fn record_initiated(&self, operation: Operation) {
        if let Some(counter) = self.initiated.get(index(operation)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn record_completed(&self, operation: Operation) {
        if let Some(counter) = self.completed.get(index(operation)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn record_search(&self, entries: u32, references: u32) {
        self.entries.fetch_add(u64::from(entries), Relaxed);
        self.references.fetch_add(u64::from(references), Relaxed);
        self.pdus_sent
            .fetch_add(u64::from(entries) + u64::from(references), Relaxed);
    }

    pub(crate) fn record_unindexed_search(&self) {
        self.unindexed_searches.fetch_add(1, Relaxed);
    }

    pub(crate) fn record_commit(&self, writes: usize) {
        if writes > 0 {
            self.commits.fetch_add(1, Relaxed);
            self.committed_writes.fetch_add(writes as u64, Relaxed);
        }
    }

    /// Requests begun, of one kind.
    pub fn initiated(&self, operation: Operation) -> u64 {
        self.initiated
            .get(index(operation))
            .map_or(0, |counter| counter.load(Relaxed))
    }

    /// Requests ended, of one kind.
    pub fn completed(&self, operation: Operation) -> u64 {
        self.completed
            .get(index(operation))
            .map_or(0, |counter| counter.load(Relaxed))
    }

    /// Entries returned by searches.
    pub fn entries(&self) -> u64 {
        self.entries.load(Relaxed)
    }

    /// References returned by searches.
    pub fn references(&self) -> u64 {
        self.references.load(Relaxed)
    }

    /// Searches that no index served.
    pub fn unindexed_searches(&self) -> u64 {
        self.unindexed_searches.load(Relaxed)
    }

    /// Commits, and the write operations in them.
    pub fn commits(&self) -> (u64, u64) {
        (self.commits.load(Relaxed), self.committed_writes.load(Relaxed))
    }
}
