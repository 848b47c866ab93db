//! Binds that have failed, by the address that they came from (`bind-failure-limit`).
//!
//! A table of fixed size: an address has its place in one row of it, where the one that has failed least gives way. So
//! nobody can make it grow, and an attacker who has more addresses than it has places can at most make it forget.

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

/// What becomes of a bind, by what its source has done before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// It is looked at at once.
    Full,
    /// It is looked at after this time.
    After(Duration),
    /// It is refused.
    None,
}

/// The failures.
#[derive(Debug, Default)]
pub struct BindFailures {
    rows: Mutex<Vec<[Place; PLACES_PER_ROW]>>,
    hasher: RandomState,
    failed: AtomicU64,
    delayed: AtomicU64,
    refused: AtomicU64,
}

/// What is remembered of a source.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    source: Option<SourceAddress>,
    failures: u32,
    /// Microseconds of the first of them, or of the last when they are enough.
    since_micros: u64,
}

impl BindFailures {
    /// What becomes of a bind from an address at a time, in monotonic microseconds.
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

    /// A bind from an address has failed.
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

    /// A bind has had to wait.
    pub fn record_delayed(&self) {
        self.delayed.fetch_add(1, Relaxed);
    }

    /// A bind has been refused unseen.
    pub(crate) fn record_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Binds that have failed while there was a limit; that had to wait; that were refused unseen.
    pub fn counts(&self) -> [u64; 3] {
        [&self.failed, &self.delayed, &self.refused].map(|count| count.load(Relaxed))
    }

    fn with_row<R>(&self, source: SourceAddress, act: impl FnOnce(&mut [Place]) -> R) -> R {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.is_empty() {
            rows.resize(ROWS, <[Place; PLACES_PER_ROW]>::default());
        }
        // Seeded anew by each server, so that nobody can choose neighbours.
        let hash = self.hasher.hash_one(source);
        let number = usize::try_from(hash % ROWS as u64).unwrap_or(0);
        match rows.get_mut(number) {
            Some(row) => act(row),
            None => act(&mut []),
        }
    }
}

impl Place {
    /// Whether what was counted is forgotten.
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
