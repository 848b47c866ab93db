//! Failed binds by source address (`bind-failure-limit`).
//!
//! The table has a fixed size, so no client can make it grow. The hash of an address selects a row. In a full row, the
//! address with the fewest failures gives way. An attacker with more addresses than the table has places can at most
//! make the server forget some failures.

use core::net::IpAddr;
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use ironbark_config::BindFailureLimit;

use crate::request::identity::SourceAddress;

/// The treatment of a bind, given the earlier failures of its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// The bind is processed at once.
    Full,
    /// The bind is processed after this time.
    After(Duration),
    /// The bind is refused.
    None,
}

/// The table of failures, and counters of what followed from them.
#[derive(Debug, Default)]
pub struct BindFailures {
    rows: Mutex<Vec<[Place; PLACES_PER_ROW]>>,
    hasher: RandomState,
    failed: AtomicU64,
    delayed: AtomicU64,
    refused: AtomicU64,
}

/// The failures of one source.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    source: Option<SourceAddress>,
    failures: u32,
    /// Monotonic microseconds of the first failure; of the last one once the limit is reached.
    since_micros: u64,
}

impl BindFailures {
    /// The treatment of a bind that comes from `address` now. `now_micros` is monotonic time in microseconds.
    pub fn patience(&self, limit: BindFailureLimit, address: IpAddr, now_micros: u64) -> Patience {
        let source = SourceAddress::from(address);
        let failures = self.with_row(source, |row| {
            let place = row.iter().find(|place| place.source == Some(source));
            place
                .filter(|place| !place.is_over(limit, now_micros))
                .map_or(0, |place| place.failures)
        });
        if failures >= limit.count {
            Patience::None
        } else if failures > limit.count / 2 {
            Patience::After(DELAY)
        } else {
            Patience::Full
        }
    }

    /// Records a failed bind from `address`.
    pub(crate) fn record(&self, limit: BindFailureLimit, address: IpAddr, now_micros: u64) {
        self.failed.fetch_add(1, Relaxed);
        let source = SourceAddress::from(address);
        self.with_row(source, |row| {
            let known = row.iter().position(|place| place.source == Some(source));
            let least = |(_, place): &(usize, &Place)| {
                let failures = if place.is_over(limit, now_micros) {
                    0
                } else {
                    place.failures
                };
                (failures, place.since_micros)
            };
            let chosen = known.or_else(|| row.iter().enumerate().min_by_key(least).map(|(number, _)| number));
            let Some(place) = chosen.and_then(|number| row.get_mut(number)) else {
                return;
            };
            if place.source != Some(source) || place.is_over(limit, now_micros) {
                *place = Place {
                    source: Some(source),
                    failures: 0,
                    since_micros: now_micros,
                };
            }
            place.failures = place.failures.saturating_add(1);
            if place.failures == limit.count {
                place.since_micros = now_micros;
            }
        });
    }

    /// Counts a bind that had to wait.
    pub fn record_delayed(&self) {
        self.delayed.fetch_add(1, Relaxed);
    }

    /// Counts a bind that was refused before its password was checked.
    pub(crate) fn record_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Counters: binds that failed under a limit, binds that had to wait, binds that were refused unchecked.
    pub fn counts(&self) -> [u64; 3] {
        [&self.failed, &self.delayed, &self.refused].map(|count| count.load(Relaxed))
    }

    fn with_row<R>(&self, source: SourceAddress, act: impl FnOnce(&mut [Place]) -> R) -> R {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.is_empty() {
            rows.resize(ROWS, <[Place; PLACES_PER_ROW]>::default());
        }
        // The hasher has a new seed in each process, so an attacker cannot choose addresses that share a row.
        let hash = self.hasher.hash_one(source);
        let number = usize::try_from(hash % ROWS as u64).unwrap_or(0);
        match rows.get_mut(number) {
            Some(row) => act(row),
            None => act(&mut []),
        }
    }
}

impl Place {
    /// Whether the time has passed after which the failures are forgotten.
    fn is_over(&self, limit: BindFailureLimit, now_micros: u64) -> bool {
        now_micros.saturating_sub(self.since_micros) >= u64::from(limit.seconds) * 1_000_000
    }
}

const ROWS: usize = 512;
const PLACES_PER_ROW: usize = 8;
const DELAY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: BindFailureLimit = BindFailureLimit { count: 4, seconds: 10 };
    const SECOND: u64 = 1_000_000;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn failures_delay_then_block_then_are_forgotten() {
        let failures = BindFailures::default();
        let at = |now| failures.patience(LIMIT, address(1), now);
        assert_eq!(at(0), Patience::Full);
        for now in 0..3 {
            failures.record(LIMIT, address(1), now * SECOND);
        }
        assert_eq!(at(3 * SECOND), Patience::After(DELAY));
        failures.record(LIMIT, address(1), 3 * SECOND);
        assert_eq!(at(4 * SECOND), Patience::None);
        assert_eq!(failures.patience(LIMIT, address(2), 4 * SECOND), Patience::Full);
        assert_eq!(at(12 * SECOND), Patience::None);
        assert_eq!(at(13 * SECOND), Patience::Full);
        failures.record(LIMIT, address(1), 14 * SECOND);
        assert_eq!(at(14 * SECOND), Patience::Full);
        assert_eq!(failures.counts(), [5, 0, 0]);
    }

    #[test]
    fn the_table_does_not_grow_and_keeps_who_fails_most() {
        let failures = BindFailures::default();
        for _ in 0..4 {
            failures.record(LIMIT, address(1), SECOND);
        }
        for number in 0..100_000_u32 {
            failures.record(LIMIT, IpAddr::from(number.to_be_bytes()), SECOND);
        }
        assert_eq!(failures.rows.lock().unwrap().len(), ROWS);
        assert_eq!(failures.patience(LIMIT, address(1), SECOND), Patience::None);
    }
}
