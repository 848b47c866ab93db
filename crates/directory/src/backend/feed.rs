//! The changes of a database as they are committed, for readers that follow its log. A reader that has read everything
//! waits here; the records that several readers want are read from the log once.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use ironbark_model::number_map::NumberMap;
use ironbark_store::{ChangeRecord, StoreError, View};

/// Octets of the records that are kept for other readers.
const KEPT_OCTETS: usize = 8 << 20;
/// Records that a reader gets at once.
const BATCH: usize = 64;

/// The changes of a database, as its readers see them.
#[derive(Default)]
pub(crate) struct Feed {
    /// Number of the last committed change; 0: there was none since the start.
    last: AtomicU64,
    /// How often all readers were woken for another reason than a change.
    calls: AtomicU64,
    readers: AtomicU64,
    waiting: Mutex<NumberMap<Waker>>,
    kept: Mutex<Kept>,
}

/// The latest records that a reader has read, without gaps.
#[derive(Default)]
struct Kept {
    records: VecDeque<Arc<ChangeRecord>>,
    octets: usize,
}

/// A reader of the feed. Dropping it ends its waiting.
pub(crate) struct Reader {
    feed: Arc<Feed>,
    number: u64,
    calls: u64,
}

impl Feed {
    /// A change was committed.
    pub(crate) fn committed(&self, sequence: u64) {
        self.last.store(sequence, Ordering::Release);
        self.wake();
    }

    /// Number of the last committed change; 0: there was none since the start.
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Wakes all readers: they must look at the configuration again.
    pub(crate) fn call(&self) {
        self.calls.fetch_add(1, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.drain().for_each(|(_, waker)| waker.wake());
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn of(feed: &Arc<Feed>) -> Self {
        Self {
            number: feed.readers.fetch_add(1, Ordering::Relaxed),
            calls: feed.calls.load(Ordering::Acquire),
            feed: Arc::clone(feed),
        }
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Ready when there is a change after `seen`, or when the reader is called.
    pub(crate) fn poll_behind(&mut self, seen: u64, cx: &Context<'_>) -> Poll<()> {
        let mut waiting = lock(&self.feed.waiting);
        let calls = self.feed.calls.load(Ordering::Acquire);
        if calls != self.calls || self.feed.last.load(Ordering::Acquire) > seen {
            self.calls = calls;
            return Poll::Ready(());
        }
        waiting.insert(self.number, cx.waker().clone());
        Poll::Pending
    }

    /// The next changes of the log, in order, from number `first` on. None behind the view's last one is returned.
    ///
    /// # Errors
    /// The storage failed; a row is damaged.
    pub(crate) fn changes(&self, view: View<'_>, first: u64) -> Result<Vec<Arc<ChangeRecord>>, StoreError> {
        let last = view.log_state()?.last;
        self.kept_or_read(first, last, || read(view, first))
    }

    /// The same, where `read` reads the log. Nobody waits for that: another reader may read at the same time.
    fn kept_or_read(
        &self,
        first: u64,
        last: u64,
        read: impl FnOnce() -> Result<Vec<Arc<ChangeRecord>>, StoreError>,
    ) -> Result<Vec<Arc<ChangeRecord>>, StoreError> {
        if first > last {
            return Ok(Vec::new());
        }
        let found = lock(&self.feed.kept).from(first, last);
        if let Some(found) = found {
            return Ok(found);
        }
        let records = read()?;
        lock(&self.feed.kept).take_in(first, &records);
        Ok(records)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.feed.waiting).remove(&self.number);
    }
}

impl Kept {
    /// Those from `first` to `last`. `None`: the first one is not kept.
    fn from(&self, first: u64, last: u64) -> Option<Vec<Arc<ChangeRecord>>> {
        let begin = self.records.front()?.position.sequence;
        let skipped = usize::try_from(first.checked_sub(begin)?).ok()?;
        let found = self.records.iter().skip(skipped).take(BATCH);
        let found = found.filter(|record| record.position.sequence <= last);
        let found: Vec<_> = found.cloned().collect();
        (!found.is_empty()).then_some(found)
    }

    /// Keeps records that were read from number `first` on, unless a reader that is further has been here.
    fn take_in(&mut self, first: u64, records: &[Arc<ChangeRecord>]) {
        let end = self.records.back().map(|record| record.position.sequence);
        if end.is_some_and(|end| first <= end) {
            return;
        }
        if end != Some(first - 1) {
            *self = Self::default();
        }
        for record in records {
            self.push(record);
        }
    }

    fn push(&mut self, record: &Arc<ChangeRecord>) {
        self.octets += record.octets();
        self.records.push_back(Arc::clone(record));
        while self.octets > KEPT_OCTETS
            && let Some(gone) = self.records.pop_front()
        {
            self.octets -= gone.octets();
        }
    }
}

fn read(view: View<'_>, first: u64) -> Result<Vec<Arc<ChangeRecord>>, StoreError> {
    let mut octets = 0;
    let mut records = Vec::new();
    for record in view.changes(first)?.take(BATCH) {
        let record = record?;
        octets += record.octets();
        records.push(Arc::new(record));
        if octets > KEPT_OCTETS / 8 {
            break;
        }
    }
    Ok(records)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic may leave behind is at most a waker or a record less.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_the_log_is_read_no_other_reader_waits() {
        let feed = Arc::new(Feed::default());
        let (reader, other) = (Reader::of(&feed), Reader::of(&feed));
        let read = || {
            assert!(feed.kept.try_lock().is_ok());
            other.kept_or_read(1, 3, || Ok(Vec::new()))
        };
        assert!(reader.kept_or_read(1, 3, read).is_ok_and(|found| found.is_empty()));
    }
}
