//! How old the database may be: when it last was known to have all that the log had.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use ironbark_runtime::{Clock, MonotonicTime};
use tokio::time::sleep;

use crate::{etcd::json::RangeRequest, membership::Membership, place};

/// The end of the log is read so many times while the database becomes too old.
const LOOKS: u32 = 4;
/// The longest and the shortest wait between two looks.
const INTERVAL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(100));
/// Looks whose changes are still to come here. More of them say nothing new.
const MOST: usize = 64;

/// The part of a session that watches the age.
pub(crate) struct Freshness {
    pub(crate) member: Arc<Membership>,
}

impl Freshness {
    /// Watches for ever.
    pub(crate) async fn serve(self) {
        // Otherwise nobody asks.
        let Some(age) = self.member.config.age else { return };
        let mut etcd = self.member.etcd();
        let interval = (age / LOOKS).clamp(INTERVAL.1, INTERVAL.0);
        let clock = Clock::system();
        let mut looks: VecDeque<(MonotonicTime, u64)> = VecDeque::new();
        loop {
            let begun = clock.monotonic();
            // A majority of etcd confirms what this reads.
            if let Ok(found) = etcd.range(&RangeRequest::one(&self.member.keys.tail)).await
                && let Some(end) = found.kvs.first().and_then(|pair| place::read(&pair.value.0))
                && self.member.shared.follows(end.position.generation)
                && looks.len() < MOST
            {
                looks.push_back((begun, end.position.sequence));
            }
            let has = self.member.shared.place().position.sequence;
            while let Some((at, last)) = looks.front()
                && *last <= has
            {
                self.member.shared.set_fresh(*at);
                looks.pop_front();
            }
            sleep(interval).await;
        }
    }
}
