//! The room in a writer's queue, and who has how much of it.
//!
//! Nobody gets all of it: a source that takes all that it can leaves half of what it found, and a connection two
//! thirds. So others find room, and the more there are, the less each can take.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, Hash},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ironbark_model::number_map::NumberMap;
use ironbark_runtime::Claimant;
use tokio::sync::Notify;

use crate::request::identity::ConnectionSource;

/// Octets of requests that may wait for one writer or be under way. Beyond that the answer is `busy`. A single request
/// is always taken.
const QUEUE_OCTETS: usize = 128 << 20;
/// Least octets that a request counts for. So at most 32,768 requests may wait.
const REQUEST_OCTETS: usize = 4 << 10;

/// The room of one queue.
#[derive(Debug, Default)]
pub(crate) struct Room {
    held: Mutex<Held>,
    /// Told when a write ends.
    ended: Notify,
}

/// Octets of the writes that have not ended. What has none is in no map.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    sources: HashMap<ConnectionSource, usize>,
    /// By their numbers, which the server gives.
    connections: NumberMap<usize>,
}

impl Held {
    /// Whether a write has room.
    fn fits(&self, claimant: Claimant<ConnectionSource>, octets: usize) -> bool {
        let of_source = self.sources.get(&claimant.source).copied().unwrap_or_default();
        let of_connection = self.connections.get(&claimant.connection).copied().unwrap_or_default();
        let left = QUEUE_OCTETS.saturating_sub(self.all).saturating_sub(of_source);
        self.all == 0 || of_connection.saturating_add(octets) <= left
    }

    fn take(&mut self, claimant: Claimant<ConnectionSource>, octets: usize) {
        self.all += octets;
        *self.sources.entry(claimant.source).or_default() += octets;
        *self.connections.entry(claimant.connection).or_default() += octets;
    }

    fn give_back(&mut self, claimant: Claimant<ConnectionSource>, octets: usize) {
        self.all -= octets;
        give_back(&mut self.sources, claimant.source, octets);
        give_back(&mut self.connections, claimant.connection, octets);
    }
}

fn give_back<K: Eq + Hash, S: BuildHasher>(map: &mut HashMap<K, usize, S>, name: K, octets: usize) {
    if let Entry::Occupied(mut held) = map.entry(name) {
        *held.get_mut() -= octets;
        if *held.get() == 0 {
            held.remove();
        }
    }
}

/// A write's share of the room. Dropping it gives the share back.
pub(crate) struct Share {
    octets: usize,
    claimant: Claimant<ConnectionSource>,
    room: Arc<Room>,
}

impl Share {
    /// Octets that the write counts for.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.held().give_back(self.claimant, self.octets);
        self.room.ended.notify_waiters();
    }
}

impl Room {
    /// Takes a share for a write of so many octets. `None`: there is no room.
    pub(crate) fn share(self: &Arc<Self>, claimant: Claimant<ConnectionSource>, octets: usize) -> Option<Share> {
        let octets = octets.max(REQUEST_OCTETS);
        let mut held = self.held();
        if !held.fits(claimant, octets) {
            return None;
        }
        held.take(claimant, octets);
        let room = Arc::clone(self);
        Some(Share { octets, claimant, room })
    }

    /// Octets of all writes that have not ended.
    pub(crate) fn octets(&self) -> usize {
        self.held().all
    }

    /// Waits until there is room for such a write, or the queue `is_closed`, which is asked whenever a write ends.
    /// Others may take the room before the caller does.
    pub(crate) async fn wait(&self, claimant: Claimant<ConnectionSource>, octets: usize, is_closed: impl Fn() -> bool) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // What ends from here on is noticed.
            ended.as_mut().enable();
            if is_closed() || self.held().fits(claimant, octets.max(REQUEST_OCTETS)) {
                return;
            }
            ended.await;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(user: u32, connection: u64) -> Claimant<ConnectionSource> {
        let source = ConnectionSource::User(user);
        Claimant { source, connection }
    }

    /// What a connection gets of the room when it takes all that it can.
    fn fill(room: &Arc<Room>, claimant: Claimant<ConnectionSource>) -> Vec<Share> {
        std::iter::from_fn(|| room.share(claimant, REQUEST_OCTETS)).collect()
    }

    #[test]
    fn a_single_write_is_always_taken() {
        let room = Arc::<Room>::default();
        let share = room.share(by(1, 1), QUEUE_OCTETS * 2);
        assert!(share.is_some());
        assert!(room.share(by(2, 2), 1).is_none());
        drop(share);
        assert!(room.share(by(2, 2), 1).is_some());
    }

    #[test]
    fn who_takes_all_he_can_leaves_room_for_others() {
        let room = Arc::<Room>::default();
        let mut shares = fill(&room, by(1, 1));
        assert_eq!(shares.len(), QUEUE_OCTETS / REQUEST_OCTETS / 3 + 1);
        for connection in 2..6 {
            let more = fill(&room, by(1, connection));
            assert!(!more.is_empty(), "another connection of the source, {connection}");
            shares.extend(more);
        }
        assert!(shares.len() <= QUEUE_OCTETS / REQUEST_OCTETS / 2, "{}", shares.len());
        for user in 2..6 {
            let more = fill(&room, by(user, 100 + u64::from(user)));
            assert!(more.len() > 500, "another source, {user}: {}", more.len());
            shares.extend(more);
        }
        drop(shares);
        let held = room.held();
        assert_eq!((held.all, held.sources.len(), held.connections.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_refused_takes_no_room() {
        let room = Arc::<Room>::default();
        let shares = fill(&room, by(1, 1));
        let before = room.octets();
        assert!(room.share(by(1, 1), REQUEST_OCTETS).is_none());
        assert_eq!(room.octets(), before);
        drop(shares);
        assert_eq!(room.octets(), 0);
    }
}
