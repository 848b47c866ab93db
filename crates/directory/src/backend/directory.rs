//! What all operations share: the configuration in force, time, counters, the pool for slow hashes.

use std::{
    rc::Rc,
    sync::{Arc, atomic::AtomicUsize},
};

use arc_swap::ArcSwap;
use ironbark_runtime::{Clock, Randomness};
use ironbark_store::{Csn, Database, StoreError};
use tokio::sync::watch;

use super::{
    bind_failures::BindFailures, configuration::Configuration, conflicts::Conflicts, hashing_pool::HashingPool,
    peer_clocks::PeerClocks, queue::WriterHandle, sync_sessions::SyncSessions,
};
use crate::{
    stamp::{Ahead, Stamp, StampGenerator},
    statistics::Statistics,
};

/// The directory.
pub struct Directory {
    configuration: ArcSwap<Configuration>,
    /// Tells of each configuration that comes into force, and whether searches that keep a closed database open must
    /// end.
    changes: watch::Sender<bool>,
    clock: Clock,
    randomness: Randomness,
    stamps: StampGenerator,
    statistics: Statistics,
    hashing_pool: HashingPool,
    bind_failures: BindFailures,
    peer_clocks: PeerClocks,
    sessions: Arc<SyncSessions>,
    conflicts: Conflicts,
    /// Octets of the requests of open transactions.
    open_transactions: Arc<AtomicUsize>,
    /// The thread that changes the trees in memory.
    trees: WriterHandle,
}

impl Directory {
    /// Makes the directory under a first configuration without databases.
    pub(crate) fn new(configuration: Configuration, clock: Clock, randomness: Randomness, trees: WriterHandle) -> Self {
        Self {
            configuration: ArcSwap::from_pointee(configuration),
            changes: watch::Sender::default(),
            clock,
            randomness,
            stamps: StampGenerator::new(0),
            statistics: Statistics::default(),
            hashing_pool: HashingPool::new(),
            bind_failures: BindFailures::default(),
            peer_clocks: PeerClocks::default(),
            sessions: Arc::default(),
            conflicts: Conflicts::default(),
            open_transactions: Arc::default(),
            trees,
        }
    }

    /// The configuration in force.
    pub fn configuration(&self) -> Arc<Configuration> {
        self.configuration.load_full()
    }

    /// Tells of each configuration that comes into force from now on. A holder of one that is no longer in force
    /// keeps its databases open. The value says whether searches that keep a closed one open must end.
    pub fn configuration_changes(&self) -> watch::Receiver<bool> {
        self.changes.subscribe()
    }

    /// From now on, searches that keep a closed database open end with `unavailable`, or no longer.
    pub fn end_searches_of_closed(&self, must_end: bool) {
        self.changes.send_replace(must_end);
    }

    /// See [`Directory::end_searches_of_closed`].
    pub(crate) fn ends_searches_of_closed(&self) -> bool {
        *self.changes.borrow()
    }

    /// Whether a database is larger than memory, so that its reads usually wait for the disk.
    pub fn waits_for_disk(&self) -> bool {
        let configuration = self.configuration();
        let mut databases = configuration.contexts.iter().filter_map(|context| context.database());
        databases.any(|database| !database.reads_ahead())
    }

    /// Updates a reactor's copy of the configuration; returns whether it was outdated. If it is current, no counter
    /// that reactors share is touched.
    #[expect(
        clippy::redundant_allocation,
        reason = "requests count on the reactor's own counter, not on the shared one"
    )]
    pub(crate) fn refresh(&self, held: &mut Rc<Arc<Configuration>>) -> bool {
        let current = self.configuration.load();
        if Arc::ptr_eq(&current, held) {
            return false;
        }
        *held = Rc::new(Arc::clone(&current));
        true
    }

    /// The queue of the thread that changes trees in memory.
    pub(crate) fn trees(&self) -> &WriterHandle {
        &self.trees
    }

    /// Puts a configuration into force.
    pub(crate) fn swap(&self, configuration: Arc<Configuration>, server_id: u16) {
        self.stamps.set_server_id(server_id);
        self.configuration.store(configuration);
        self.changes.send_modify(|_| ());
    }

    /// The counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Octets of the requests of open transactions.
    pub(crate) fn open_transactions(&self) -> &Arc<AtomicUsize> {
        &self.open_transactions
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The source of randomness.
    pub fn randomness(&self) -> &Randomness {
        &self.randomness
    }

    /// `slowlog` in microseconds.
    pub(crate) fn slow_micros(&self) -> Option<u64> {
        self.configuration.load().slow_micros()
    }

    /// Monotonic time in microseconds.
    pub fn monotonic_micros(&self) -> u64 {
        self.clock.monotonic().nanos() / 1_000
    }

    /// Records a CSN of any server: the next CSNs of this server are greater.
    pub(crate) fn observe_csn(&self, csn: Csn) -> Ahead {
        self.stamps.observe(&self.clock, csn)
    }

    /// Records a CSN that a peer has sent, as [`Self::observe_csn`]. Returns whether it may be followed. If the peer's
    /// clock, or ours, is wrong, the log says so once a minute.
    pub(crate) fn observe_peer(&self, csn: Csn, peer: u16) -> bool {
        let ahead = self.observe_csn(csn);
        let what = match ahead {
            Ahead::TooFar => "more than a day ahead of the clock, and is refused",
            Ahead::Much | Ahead::Little => "more than a minute ahead of the clock",
        };
        self.tell_ahead(ahead, peer, || {
            let server = csn.server_id();
            format!("a change of server {server}, {csn}, sent by server {peer}, lies {what}")
        });
        ahead != Ahead::TooFar
    }

    /// Records the CSN of a change that the log of a cluster has. It is followed however wrong a clock is: all servers
    /// of the cluster must take the change.
    pub(crate) fn follow_csn(&self, csn: Csn) {
        let ahead = self.observe_csn(csn);
        if ahead == Ahead::TooFar {
            self.stamps.follow(csn);
        }
        self.tell_ahead(ahead, csn.server_id(), || {
            format!("a change of the cluster, {csn}, lies ahead of the clock")
        });
    }

    /// Says in the log, once a minute for a peer, that a CSN lies far ahead.
    fn tell_ahead(&self, ahead: Ahead, peer: u16, what: impl FnOnce() -> String) {
        if ahead != Ahead::Little && self.peer_clocks.is_news(peer, self.monotonic_micros()) {
            tracing::warn!(target: "any", "{}: one of the clocks is wrong", what());
        }
    }

    /// Records the CSNs of a database. Thus new changes get greater CSNs than old ones, even if the clock was set back
    /// before the start.
    ///
    /// # Errors
    /// The storage failed.
    pub fn observe_database(&self, database: &Database) -> Result<(), StoreError> {
        for csn in last_csns(database)? {
            let what = match self.observe_csn(csn) {
                Ahead::Little => continue,
                Ahead::Much => "lies ahead of the clock: one of the clocks is wrong",
                Ahead::TooFar => "lies more than a day ahead of the clock: changes from now on come before it",
            };
            let directory = database.options().directory.display();
            tracing::warn!(target: "any", "{directory}: the last change of server {}, {csn}, {what}", csn.server_id());
        }
        Ok(())
    }

    /// Records the CSNs of a database of a cluster, as [`Self::follow_csn`].
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn follow_database(&self, database: &Database) -> Result<(), StoreError> {
        last_csns(database)?.into_iter().for_each(|csn| self.follow_csn(csn));
        Ok(())
    }

    /// `serverID` of this server, 0 to 4095.
    pub fn server_id(&self) -> u16 {
        self.stamps.server_id()
    }

    /// No change gets this CSN of the server's own, or a smaller one, any more.
    pub(crate) fn draw_up_to(&self, csn: Csn) {
        self.stamps.follow(csn);
    }

    pub(crate) fn next_stamp(&self) -> Stamp {
        self.stamps.next(&self.clock)
    }

    /// Microseconds since 1970 and the change count of the last CSN that was drawn.
    pub(crate) fn last_drawn(&self) -> (i64, u32) {
        self.stamps.last()
    }

    /// Failed binds by address.
    pub fn bind_failures(&self) -> &BindFailures {
        &self.bind_failures
    }

    /// The consumers that follow databases of this server.
    pub(crate) fn sessions(&self) -> &Arc<SyncSessions> {
        &self.sessions
    }

    /// The conflicts among several writers.
    pub(crate) fn conflicts(&self) -> &Conflicts {
        &self.conflicts
    }

    pub(crate) fn hashing_pool(&self) -> &HashingPool {
        &self.hashing_pool
    }
}

/// The last CSN of each server in a database, and that of the last change.
fn last_csns(database: &Database) -> Result<Vec<Csn>, StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let last = view.position()?.and_then(|(csn, _)| Csn::parse(csn.as_bytes()));
    let vector = view.context_vector()?.unwrap_or_default();
    Ok(vector.iter().chain(last).collect())
}
