//! The log as the writer of the database sees it: what it knows, and what it asks the session for.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::Ordering,
        mpsc::{SyncSender, sync_channel},
    },
    time::Duration,
};

use ironbark_directory::{Append, Closed, CommitLog, Received, Turn};
use ironbark_runtime::MonotonicTime;
use ironbark_store::ClusterLogPlace;
use tokio::sync::mpsc::UnboundedSender;

use super::Shared;

/// How long the writer waits for a server whose turn it is, and which does not append.
const TURN: Duration = Duration::from_millis(100);
/// How much longer the writer waits for the session than the session for etcd.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// What the writer asks of the session.
pub(crate) enum Order {
    /// To append a batch, or to confirm a place.
    Append(AppendOrder),
    /// The end of the log.
    End {
        begun: MonotonicTime,
        patience: Duration,
        reply: SyncSender<Option<ClusterLogPlace>>,
    },
}

/// What is to be appended, and where.
pub(crate) struct AppendOrder {
    pub(crate) place: ClusterLogPlace,
    /// What is appended; empty: nothing, the place is confirmed.
    pub(crate) batch: Vec<u8>,
    /// Number of its last change.
    pub(crate) last: u64,
    /// Whether another will follow.
    pub(crate) has_more: bool,
    /// When the writer began to wait, and how long it does.
    pub(crate) begun: MonotonicTime,
    pub(crate) patience: Duration,
    pub(crate) reply: SyncSender<Append>,
}

/// The log as the writer sees it.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) shared: Arc<Shared>,
    pub(crate) orders: UnboundedSender<Order>,
}

impl Log {
    fn order(&self, place: ClusterLogPlace, batch: &[u8], last: u64, has_more: bool, patience: Duration) -> Append {
        let (reply, answer) = sync_channel(1);
        let order = AppendOrder {
            place,
            batch: batch.to_vec(),
            last,
            has_more,
            begun: self.shared.clock.monotonic(),
            patience,
            reply,
        };
        if self.orders.send(Order::Append(order)).is_err() {
            return Append::Away;
        }
        // The session has had the order: without its word nobody knows.
        answer.recv_timeout(patience + GRACE).unwrap_or(Append::Unknown)
    }
}

impl CommitLog for Log {
    fn generation(&self) -> Option<u64> {
        self.shared.state().generation
    }

    fn reached(&self, place: ClusterLogPlace) {
        self.shared.reached(place);
    }

    fn kept(&self, sequence: u64) {
        self.shared.state().kept = sequence;
    }

    fn next(&self, place: ClusterLogPlace) -> Option<Arc<Received>> {
        let mut state = self.shared.state();
        let next = place.position.sequence + 1;
        let waiting = state.waiting.get(&next)?;
        if waiting.chain == place.chain {
            return Some(Arc::clone(&waiting.received));
        }
        tracing::error!(target: "any", "cluster: the log has other changes than the database before {next}");
        state.close(Closed::Diverged);
        self.shared.room.notify_one();
        None
    }

    fn turn(&self, place: ClusterLogPlace, patience: Duration) -> Turn {
        let shared = &*self.shared;
        let next = place.position.sequence + 1;
        let mut state = shared.state();
        let mut left = patience;
        loop {
            if let Some(closed) = state.closed {
                return Turn::Closed(closed);
            }
            let is_new = place.position.generation == 0 && state.generation.is_some();
            if is_new || state.waiting.contains_key(&next) {
                return Turn::Behind;
            }
            let is_newest = state.is_joined && state.last <= place.position.sequence;
            let before = shared.clock.monotonic();
            let waited = state.since.map_or(TURN, |since| before.saturating_since(since));
            let of_others = TURN.saturating_sub(waited);
            if is_newest && of_others.is_zero() && !state.ahead.is_empty() {
                let gone = state.ahead.remove(0);
                state.absent.push(gone);
                state.since = Some(before);
                continue;
            }
            if is_newest && state.ahead.is_empty() {
                return Turn::Mine;
            }
            if left.is_zero() {
                return Turn::Closed(if state.is_joined {
                    Closed::Late
                } else {
                    Closed::NotJoined
                });
            }
            let step = if is_newest { left.min(of_others) } else { left };
            state = shared
                .changed
                .wait_timeout(state, step)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            let waited = shared.clock.monotonic().saturating_since(before);
            left = left.saturating_sub(waited);
        }
    }

    fn append(&self, place: ClusterLogPlace, batch: &[u8], last: u64, has_more: bool, patience: Duration) -> Append {
        self.order(place, batch, last, has_more, patience)
    }

    fn confirm(&self, place: ClusterLogPlace, patience: Duration) -> Append {
        self.order(place, &[], place.position.sequence, false, patience)
    }

    fn end(&self, patience: Duration) -> Option<ClusterLogPlace> {
        let (reply, answer) = sync_channel(1);
        let begun = self.shared.clock.monotonic();
        let order = Order::End { begun, patience, reply };
        self.orders.send(order).ok()?;
        answer.recv_timeout(patience + GRACE).ok().flatten()
    }

    fn may_be_older_than(&self, age: Duration) -> bool {
        let fresh = self.shared.fresh.load(Ordering::Relaxed);
        let now = self.shared.micros(self.shared.clock.monotonic());
        fresh == 0 || u128::from((now + 1).saturating_sub(fresh)) > age.as_micros()
    }

    fn mark(&self) -> [u8; 16] {
        self.shared.mark()
    }

    fn patience(&self) -> Duration {
        self.shared.patience
    }

    fn failed(&self, place: ClusterLogPlace, why: &str) {
        self.shared.set_stuck();
        tracing::error!(
            target: "any",
            "cluster: change {} cannot be applied: {why}",
            place.position.sequence + 1
        );
    }
}
