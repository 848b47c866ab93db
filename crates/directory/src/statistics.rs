//! Counters of the whole server, for cn=Monitor and metrics. Relaxed atomics: each is exact, none orders anything.
//!
//! Counters are kept in *shards*. Each reactor has its own shard and is the only one to write it, so counting costs a
//! load and a store of memory that no other core touches. Threads that seldom end operations (writers, password
//! hashing) share one more shard.

mod filters;
mod latency;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;

pub(crate) use filters::Searched;
pub use filters::{FilterCost, FilterReport, FilterShape, FilterTerm, IndexUses, filter_without_values};
pub use latency::LatencySummary;

use filters::FilterRecord;
use latency::Latency;

/// The counters.
#[derive(Debug)]
pub struct Statistics {
    /// The shard of threads without their own.
    shared: Arc<Shard>,
    /// The shards of reactors; those of ended reactors stay.
    own: Mutex<Vec<Arc<Shard>>>,
    group_sizes: [AtomicU64; GROUP_POWERS],
    committed_writes: AtomicU64,
}

/// Sizes of commit groups are counted by powers of two: 1, 2, 3 to 4, 5 to 8 and so on up to 1,024.
const GROUP_POWERS: usize = 11;
/// Each result code below this has its own counter; others share the last one.
const CODES: usize = 128;

/// Counters of one thread, or of several.
#[derive(Debug)]
pub struct Shard {
    /// Several threads write.
    is_shared: bool,
    operations: [OperationCounters; Operation::ALL.len()],
    entries: AtomicU64,
    references: AtomicU64,
    unindexed_searches: AtomicU64,
    octets_sent: AtomicU64,
    pdus_sent: AtomicU64,
    filters: Mutex<FilterRecord>,
}

/// The counters of one kind of operation.
#[derive(Debug)]
struct OperationCounters {
    initiated: AtomicU64,
    completed: AtomicU64,
    results: [AtomicU64; CODES],
    latency: Latency,
}

impl Default for OperationCounters {
    fn default() -> Self {
        Self {
            initiated: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            results: std::array::from_fn(|_| AtomicU64::new(0)),
            latency: Latency::default(),
        }
    }
}

impl Shard {
    fn new(is_shared: bool) -> Self {
        Self {
            is_shared,
            operations: std::array::from_fn(|_| OperationCounters::default()),
            entries: AtomicU64::new(0),
            references: AtomicU64::new(0),
            unindexed_searches: AtomicU64::new(0),
            octets_sent: AtomicU64::new(0),
            pdus_sent: AtomicU64::new(0),
            filters: Mutex::default(),
        }
    }

    /// Counters that only one thread will write.
    fn own() -> Self {
        Self::new(false)
    }

    fn add(&self, counter: &AtomicU64, count: u64) {
        if self.is_shared {
            counter.fetch_add(count, Relaxed);
        } else {
            counter.store(counter.load(Relaxed).wrapping_add(count), Relaxed);
        }
    }

    fn raise(&self, counter: &AtomicU64, to: u64) {
        if self.is_shared {
            counter.fetch_max(to, Relaxed);
        } else if counter.load(Relaxed) < to {
            counter.store(to, Relaxed);
        }
    }

    fn of(&self, operation: Operation) -> &OperationCounters {
        let [first, ..] = &self.operations;
        self.operations.get(operation as usize).unwrap_or(first)
    }

    pub(crate) fn record_initiated(&self, operation: Operation) {
        self.add(&self.of(operation).initiated, 1);
    }

    /// An operation has ended without a result.
    pub(crate) fn record_completed(&self, operation: Operation) {
        self.add(&self.of(operation).completed, 1);
    }

    /// An operation has ended with a result.
    pub(crate) fn record_result(&self, operation: Operation, code: ResultCode, micros: u64) {
        let counters = self.of(operation);
        self.add(&counters.completed, 1);
        let [.., others] = &counters.results;
        let code = usize::try_from(code.0).unwrap_or(usize::MAX);
        self.add(counters.results.get(code).unwrap_or(others), 1);
        counters.latency.record(self, micros);
    }

    pub(crate) fn record_sent(&self, entries: u32, references: u32) {
        self.add(&self.entries, entries.into());
        if references != 0 {
            self.add(&self.references, references.into());
        }
        self.add(&self.pdus_sent, u64::from(entries) + u64::from(references));
    }

    /// A search has checked candidates of one database.
    pub(crate) fn record_search(&self, searched: &Searched<'_>) {
        if !searched.plan.indexed {
            self.add(&self.unindexed_searches, 1);
        }
        self.filters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .count(searched);
    }

    /// Octets and messages have been sent; entries and references are not included.
    pub fn record_output(&self, octets: u64, results: u64) {
        if octets != 0 {
            self.add(&self.octets_sent, octets);
        }
        if results != 0 {
            self.add(&self.pdus_sent, results);
        }
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            shared: Arc::new(Shard::new(true)),
            own: Mutex::default(),
            group_sizes: std::array::from_fn(|_| AtomicU64::new(0)),
            committed_writes: AtomicU64::new(0),
        }
    }
}

impl Statistics {
    /// Counters for one more reactor.
    pub(crate) fn new_shard(&self) -> Arc<Shard> {
        let shard = Arc::new(Shard::own());
        self.own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&shard));
        shard
    }

    /// Counters for any thread.
    pub(crate) fn shared(&self) -> &Shard {
        &self.shared
    }

    fn shards(&self) -> Vec<Arc<Shard>> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.shared).chain(own.iter()).cloned().collect()
    }

    fn sum(&self, counter: impl Fn(&Shard) -> &AtomicU64) -> u64 {
        self.shards().iter().map(|shard| counter(shard).load(Relaxed)).sum()
    }

    pub(crate) fn record_commit(&self, writes: usize) {
        if writes == 0 {
            return;
        }
        let power = writes.next_power_of_two().ilog2() as usize;
        let [.., biggest] = &self.group_sizes;
        self.group_sizes.get(power).unwrap_or(biggest).fetch_add(1, Relaxed);
        self.committed_writes.fetch_add(writes as u64, Relaxed);
    }

    /// Operations of one kind have ended without a result, because their client is gone.
    pub fn record_given_up(&self, operation: Operation, count: usize) {
        let completed = &self.shared.of(operation).completed;
        self.shared.add(completed, count as u64);
    }

    /// Requests begun, of one kind.
    pub fn initiated(&self, operation: Operation) -> u64 {
        self.sum(|shard| &shard.of(operation).initiated)
    }

    /// Requests ended, of one kind.
    pub fn completed(&self, operation: Operation) -> u64 {
        self.sum(|shard| &shard.of(operation).completed)
    }

    /// Results of one kind of operation: the codes that occurred, with their numbers. `None` stands for all codes of
    /// 127 and above.
    pub fn results(&self, operation: Operation) -> Vec<(Option<ResultCode>, u64)> {
        let shards = self.shards();
        let count = |code: usize| -> u64 {
            let counters = shards.iter().map(|shard| shard.of(operation).results.get(code));
            counters.flatten().map(|counter| counter.load(Relaxed)).sum()
        };
        let code = |code: usize| u32::try_from(code).ok().filter(|_| code < CODES - 1).map(ResultCode);
        let all = (0..CODES).map(|number| (code(number), count(number)));
        all.filter(|(_, count)| *count != 0).collect()
    }

    /// How long operations of one kind took, from the complete request to the result.
    pub fn latency(&self, operation: Operation) -> LatencySummary {
        let mut summary = LatencySummary::default();
        for shard in self.shards() {
            summary.add(&shard.of(operation).latency);
        }
        summary
    }

    /// Entries returned by searches.
    pub fn entries(&self) -> u64 {
        self.sum(|shard| &shard.entries)
    }

    /// References returned by searches.
    pub fn references(&self) -> u64 {
        self.sum(|shard| &shard.references)
    }

    /// Octets sent.
    pub fn octets_sent(&self) -> u64 {
        self.sum(|shard| &shard.octets_sent)
    }

    /// Messages sent.
    pub fn pdus_sent(&self) -> u64 {
        self.sum(|shard| &shard.pdus_sent)
    }

    /// Searches that no index served.
    pub fn unindexed_searches(&self) -> u64 {
        self.sum(|shard| &shard.unindexed_searches)
    }

    /// The filters of searches, and their costs.
    pub fn filters(&self) -> FilterReport {
        let mut report = FilterReport::default();
        for shard in self.shards() {
            let record = shard.filters.lock().unwrap_or_else(PoisonError::into_inner);
            record.add_to(&mut report);
        }
        report
            .shapes
            .sort_by(|one, other| (other.cost.candidates, &one.filter).cmp(&(one.cost.candidates, &other.filter)));
        report
    }

    /// Commits by the number of writes in them: the biggest number of a class, and the number of commits.
    pub fn commits(&self) -> Vec<(u64, u64)> {
        (0..)
            .zip(&self.group_sizes)
            .map(|(power, count)| (1 << power, count.load(Relaxed)))
            .collect()
    }

    /// Write operations that were committed.
    pub fn committed_writes(&self) -> u64 {
        self.committed_writes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_add_up() {
        let statistics = Statistics::default();
        let (one, two) = (statistics.new_shard(), statistics.new_shard());
        for shard in [&*one, &*two, statistics.shared()] {
            shard.record_initiated(Operation::Search);
            shard.record_result(Operation::Search, ResultCode::SUCCESS, 10);
            shard.record_sent(2, 1);
            shard.record_output(100, 1);
        }
        two.record_result(Operation::Search, ResultCode::NO_OPERATION, 30);
        drop(one);
        assert_eq!(statistics.initiated(Operation::Search), 3);
        assert_eq!(statistics.completed(Operation::Search), 4);
        assert_eq!(statistics.initiated(Operation::Bind), 0);
        assert_eq!(
            statistics.results(Operation::Search),
            [(Some(ResultCode::SUCCESS), 3), (None, 1)]
        );
        assert_eq!((statistics.entries(), statistics.references()), (6, 3));
        assert_eq!((statistics.octets_sent(), statistics.pdus_sent()), (300, 12));
        assert_eq!(statistics.latency(Operation::Search).max_micros, 30);
    }

    #[test]
    fn commits_are_counted_by_the_size_of_their_group() {
        let statistics = Statistics::default();
        for writes in [0, 1, 2, 3, 4, 5, 1_024] {
            statistics.record_commit(writes);
        }
        let commits = statistics.commits();
        assert_eq!(&commits[..4], [(1, 1), (2, 1), (4, 2), (8, 1)]);
        assert_eq!(commits.last(), Some(&(1_024, 1)));
        assert_eq!(statistics.committed_writes(), 1_039);
    }
}
