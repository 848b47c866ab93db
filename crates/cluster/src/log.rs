//! What is known of a log, shared by the writer of the database, which asks, and the session, which reads and appends.

#[cfg(test)]
mod tests;
mod writer;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use ironbark_directory::{Append, Closed, Received};
use ironbark_runtime::{Clock, MonotonicTime};
use ironbark_store::ClusterLogPlace;
use tokio::time::timeout;

use crate::Status;

pub(crate) use self::writer::{AppendOrder, GRACE, Log, Order};

/// Octets of batches that may wait for the writer.
const WAITING: usize = 64 << 20;
/// How long a batch waits while etcd takes much more room than it should: ten batches a second are left of thousands.
const SLOWLY: Duration = Duration::from_millis(100);

/// A server, by random octets of its own.
pub(crate) type ServerId = [u8; 8];

/// A batch that waits for the writer.
struct Waiting {
    /// The chain for which it was made.
    chain: [u8; 16],
    received: Arc<Received>,
}

/// What is known of the log.
#[derive(Default)]
struct State {
    /// The random number of the log; `None`: not read yet.
    generation: Option<u64>,
    /// Whether the log was read up to now.
    is_joined: bool,
    /// Why the database cannot follow.
    closed: Option<Closed>,
    /// Where the database is.
    place: ClusterLogPlace,
    /// Number of the last change that the log is known to have.
    last: u64,
    /// Batches by the number of their first change.
    waiting: BTreeMap<u64, Waiting>,
    octets: usize,
    /// Servers whose turn comes before ours, and since when that of the next one lasts, however often the writer has
    /// something to apply meanwhile.
    ahead: Vec<ServerId>,
    since: Option<MonotonicTime>,
    /// Servers that did not use their turn, as long as the log says that they want one.
    absent: Vec<ServerId>,
    /// Whether the database has once had all of the log.
    was_complete: bool,
    /// Number of the last change that is on the disk of this server.
    kept: u64,
    /// Whether what comes next cannot be applied.
    is_stuck: bool,
    /// Octets of a copy that have come, and about how many there are.
    copied: Option<(u64, u64)>,
    appended: u64,
    overtaken: u64,
    failures: u64,
}

impl State {
    fn close(&mut self, why: Closed) {
        self.closed = Some(why);
        self.waiting.clear();
        self.octets = 0;
    }
}

/// The log of a database.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Told when the state has changed, to the writer.
    changed: Condvar,
    /// The same, to the session, when there is room again.
    room: tokio::sync::Notify,
    pub(crate) id: ServerId,
    marks: AtomicU64,
    begun: MonotonicTime,
    /// When the database had all that the log had, in microseconds since `begun`, and one more; 0: never.
    fresh: AtomicU64,
    patience: Duration,
    /// Whether etcd takes much more room than it should.
    is_tight: AtomicBool,
    /// Whether the database was of a log when the session began.
    belongs: bool,
    clock: Clock,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Shared {
    /// Of a database that is at `place`; `belongs`: it has been of a log.
    pub(crate) fn new(id: ServerId, patience: Duration, place: ClusterLogPlace, belongs: bool) -> Self {
        let state = State {
            place,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            room: tokio::sync::Notify::new(),
            id,
            marks: AtomicU64::new(0),
            begun: Clock::system().monotonic(),
            fresh: AtomicU64::new(0),
            patience,
            is_tight: AtomicBool::new(false),
            belongs,
            clock: Clock::system(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the database is.
    pub(crate) fn place(&self) -> ClusterLogPlace {
        self.state().place
    }

    /// The log was read, up to a place.
    pub(crate) fn joined(&self, tail: &ClusterLogPlace) {
        let mut state = self.state();
        state.generation = Some(tail.position.generation);
        state.is_joined = true;
        state.last = state.last.max(tail.position.sequence);
        state.closed = None;
        self.changed.notify_all();
    }

    /// The database cannot follow the log.
    pub(crate) fn close(&self, why: Closed) {
        self.state().close(why);
        self.room.notify_one();
        self.changed.notify_all();
    }

    /// Whether etcd takes much more room than it should, so that writes must be slow. Returns what was so before.
    pub(crate) fn set_tight(&self, is_tight: bool) -> bool {
        self.is_tight.swap(is_tight, Ordering::Relaxed)
    }

    /// Waits a while if etcd takes much more room than it should.
    pub(crate) async fn go_slowly(&self) {
        if self.is_tight.load(Ordering::Relaxed) {
            tokio::time::sleep(SLOWLY).await;
        }
    }

    /// Why the database cannot follow the log.
    pub(crate) fn closed(&self) -> Option<Closed> {
        let state = self.state();
        let unread = (!state.is_joined).then_some(Closed::NotJoined);
        state.closed.or(unread)
    }

    /// The database is there.
    pub(crate) fn reached(&self, place: ClusterLogPlace) {
        let mut state = self.state();
        // The writer also says where it is before it tries again.
        state.is_stuck &= state.place == place;
        state.place = place;
        let later = state.waiting.split_off(&(place.position.sequence + 1));
        let done = std::mem::replace(&mut state.waiting, later);
        let done: usize = done.values().map(|waiting| waiting.received.octets).sum();
        state.octets -= done;
        state.was_complete |= state.is_joined && state.closed.is_none() && place.position.sequence >= state.last;
        if done > 0 {
            self.room.notify_one();
        }
    }

    /// What comes next cannot be applied.
    pub(crate) fn set_stuck(&self) {
        self.state().is_stuck = true;
    }

    /// A mark that nothing else of this log has.
    pub(crate) fn mark(&self) -> [u8; 16] {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        let mut mark = [0; 16];
        for (octet, value) in mark.iter_mut().zip(self.id.iter().copied().chain(number.to_be_bytes())) {
            *octet = value;
        }
        mark
    }

    /// How long a write waits for the log.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Number of the last change that is on the disk of this server, as far as is known.
    pub(crate) fn kept(&self) -> u64 {
        self.state().kept
    }

    /// A batch of the log. `chain` is that of the place for which it was made. Returns whether the writer has to apply
    /// it.
    pub(crate) fn received(&self, chain: [u8; 16], received: Received) -> bool {
        let first = received.batch.first().sequence;
        let server = received.batch.mark.first_chunk::<8>().copied();
        let mut state = self.state();
        state.last = state.last.max(received.behind.position.sequence);
        let before = state.ahead.len();
        state.ahead.retain(|one| Some(*one) != server);
        if state.ahead.len() < before {
            // The next of them has its time.
            state.since = Some(self.clock.monotonic());
        }
        state.absent.retain(|one| Some(*one) != server);
        let is_news = first > state.place.position.sequence && !state.waiting.contains_key(&first);
        if is_news {
            state.octets += received.octets;
            let received = Arc::new(received);
            state.waiting.insert(first, Waiting { chain, received });
        }
        self.changed.notify_all();
        is_news
    }

    /// What is known, for those who watch.
    pub(crate) fn status(&self, suffix: &str) -> Status {
        let state = self.state();
        Status {
            suffix: suffix.to_owned(),
            is_ready: state.was_complete && state.closed.is_none() && !state.is_stuck,
            closed: state.closed,
            position: state.place.position.sequence,
            end: state.last.max(state.place.position.sequence),
            appended: state.appended,
            overtaken: state.overtaken,
            failures: state.failures,
            copied: state.copied,
        }
    }

    /// Counts the end of an append.
    pub(crate) fn count(&self, end: Append) {
        let mut state = self.state();
        match end {
            Append::Committed => state.appended += 1,
            Append::Overtaken => state.overtaken += 1,
            Append::Away | Append::Unknown => {}
        }
    }

    /// Counts an attempt that etcd did not answer.
    pub(crate) fn count_failure(&self) {
        self.state().failures += 1;
    }

    /// Whether the database was of a log when the session began, or the log was read since.
    pub(crate) fn is_of_log(&self) -> bool {
        self.belongs || self.state().generation.is_some()
    }

    /// Whether the log was read, and is followed.
    pub(crate) fn is_joined(&self) -> bool {
        let state = self.state();
        state.is_joined && state.closed.is_none()
    }

    /// Whether the database has once had all of the log, and follows it.
    pub(crate) fn is_complete(&self) -> bool {
        let state = self.state();
        state.was_complete && state.closed.is_none()
    }

    /// How much of a copy has come.
    pub(crate) fn set_copied(&self, copied: Option<(u64, u64)>) {
        self.state().copied = copied;
    }

    /// The log has this change.
    pub(crate) fn reaches(&self, last: u64) {
        let mut state = self.state();
        state.last = state.last.max(last);
        self.changed.notify_all();
    }

    /// Whether the log of this generation is followed.
    pub(crate) fn follows(&self, generation: u64) -> bool {
        let state = self.state();
        state.is_joined && state.closed.is_none() && state.place.position.generation == generation
    }

    fn micros(&self, at: MonotonicTime) -> u64 {
        u64::try_from(at.saturating_since(self.begun).as_micros()).unwrap_or(u64::MAX - 1)
    }

    /// The database has all that the log had then.
    pub(crate) fn set_fresh(&self, at: MonotonicTime) {
        self.fresh.fetch_max(self.micros(at) + 1, Ordering::Relaxed);
    }

    /// Whether no more batches should be read for now.
    fn is_full(&self) -> bool {
        self.state().octets > WAITING
    }

    /// Waits until more batches may be read. False: nothing was applied for so long.
    pub(crate) async fn wait_for_room(&self, most: Duration) -> bool {
        while self.is_full() {
            if timeout(most, self.room.notified()).await.is_err() {
                return !self.is_full();
            }
        }
        true
    }

    /// These servers come before this one, unless they have just missed their turn.
    pub(crate) fn come_before(&self, mut servers: Vec<ServerId>) {
        let mut state = self.state();
        servers.retain(|server| !state.absent.contains(server));
        if servers.iter().any(|server| !state.ahead.contains(server)) {
            state.since = Some(self.clock.monotonic());
        }
        state.ahead = servers;
    }

    /// Servers that did not use their turn.
    pub(crate) fn absent(&self) -> Vec<ServerId> {
        self.state().absent.clone()
    }

    /// The log has forgotten that these servers want a turn.
    pub(crate) fn forgotten(&self, servers: &[ServerId]) {
        self.state().absent.retain(|server| !servers.contains(server));
    }
}
