//! When the log last told of a peer whose clock differs from ours.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The last alarm about each peer. Server IDs bound their number.
#[derive(Debug, Default)]
pub(crate) struct PeerClocks(Mutex<HashMap<u16, u64>>);

/// Time between two alarms about one peer.
const PERIOD_MICROS: u64 = 60 * 1_000_000;

impl PeerClocks {
    /// Whether an alarm about a peer is due at this monotonic time in microseconds. If so, it counts as given.
    pub(crate) fn is_news(&self, peer: u16, now_micros: u64) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told
            .get(&peer)
            .is_none_or(|last| now_micros.saturating_sub(*last) >= PERIOD_MICROS);
        if is_due {
            told.insert(peer, now_micros);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{PERIOD_MICROS, PeerClocks};

    #[test]
    fn an_alarm_about_a_peer_comes_once_a_minute() {
        let clocks = PeerClocks::default();
        assert!(clocks.is_news(1, 0) && clocks.is_news(2, 5));
        assert!(!clocks.is_news(1, PERIOD_MICROS - 1));
        assert!(clocks.is_news(1, PERIOD_MICROS));
        assert!(!clocks.is_news(1, PERIOD_MICROS + 1));
        assert!(clocks.is_news(2, PERIOD_MICROS + 5));
    }
}
