//! Durations in buckets of equal relative width, so that quantiles of years of operations take two kilobytes.
//!
//! Each duration below 16 microseconds has its own bucket; above, each power of two has eight. So the error of a
//! quantile is at most an eighth.

use std::sync::atomic::AtomicU64;

use super::Shard;

/// Durations below this have a bucket each.
const EXACT: u64 = 16;
/// The power of two of [`EXACT`].
const EXACT_POWER: u32 = 4;
/// Longer durations are counted as just below this power of two: 19 hours.
const MOST_POWER: u32 = 36;
/// Buckets of each power of two.
const PARTS: usize = 8;
const BUCKETS: usize = 16 + (MOST_POWER - EXACT_POWER) as usize * PARTS;

/// Durations of one kind of operation, counted in one shard.
#[derive(Debug)]
pub(super) struct Latency {
    buckets: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
    max_micros: AtomicU64,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_micros: AtomicU64::new(0),
            max_micros: AtomicU64::new(0),
        }
    }
}

/// The bucket of a duration.
fn bucket_of(micros: u64) -> usize {
    let micros = micros.min((1 << MOST_POWER) - 1);
    if micros < EXACT {
        return usize::try_from(micros).unwrap_or_default();
    }
    let power = micros.ilog2();
    // Between 8 and 15: the first four bits.
    let leading = usize::try_from(micros >> (power - 3)).unwrap_or_default();
    16 + (power - EXACT_POWER) as usize * PARTS + (leading - PARTS)
}

/// The shortest duration that is too long for the bucket.
fn end_of(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(16) else {
        return bucket as u64 + 1;
    };
    let width_power = above / PARTS + 1;
    ((above % PARTS + PARTS + 1) as u64) << width_power
}

impl Latency {
    pub(super) fn record(&self, shard: &Shard, micros: u64) {
        if let Some(bucket) = self.buckets.get(bucket_of(micros)) {
            shard.add(bucket, 1);
        }
        shard.add(&self.sum_micros, micros);
        shard.raise(&self.max_micros, micros);
    }
}

/// The durations of one kind of operation, of all shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatencySummary {
    buckets: Vec<u64>,
    /// Operations.
    pub count: u64,
    /// The sum of their durations.
    pub sum_micros: u64,
    /// The longest.
    pub max_micros: u64,
}

impl Default for LatencySummary {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
            sum_micros: 0,
            max_micros: 0,
        }
    }
}

impl LatencySummary {
    pub(super) fn add(&mut self, other: &Latency) {
        use std::sync::atomic::Ordering::Relaxed;
        for (sum, bucket) in self.buckets.iter_mut().zip(&other.buckets) {
            let count = bucket.load(Relaxed);
            *sum += count;
            self.count += count;
        }
        self.sum_micros = self.sum_micros.saturating_add(other.sum_micros.load(Relaxed));
        self.max_micros = self.max_micros.max(other.max_micros.load(Relaxed));
    }

    /// The microseconds within which this many of a thousand operations ended.
    pub fn quantile(&self, per_mille: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if *count != 0 && seen >= wanted {
                return (end_of(bucket) - 1).min(self.max_micros);
            }
        }
        self.max_micros
    }

    /// Operations that took less than a power of two of microseconds.
    pub fn below_power(&self, power: u32) -> u64 {
        let limit = 1_u64 << power.min(MOST_POWER);
        let whole = |(bucket, _): &(usize, &u64)| end_of(*bucket) <= limit;
        self.buckets
            .iter()
            .enumerate()
            .take_while(whole)
            .map(|(_, count)| count)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let mut before = 0;
        for micros in (0..5_000_u64).chain((13..36).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]))
        {
            let bucket = bucket_of(micros);
            assert!(bucket == before || bucket == before + 1 || micros > 5_000, "{micros}");
            assert!(micros < end_of(bucket), "{micros}");
            assert!(bucket == 0 || micros >= end_of(bucket - 1), "{micros}");
            before = bucket;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        let (shard, latency) = (Shard::own(), Latency::default());
        for micros in 1..=10_000 {
            latency.record(&shard, micros);
        }
        let mut all = LatencySummary::default();
        all.add(&latency);
        assert_eq!(
            (all.count, all.max_micros, all.sum_micros),
            (10_000, 10_000, 50_005_000)
        );
        for per_mille in [1, 10, 500, 950, 990, 999] {
            let (exact, found) = (per_mille * 10, all.quantile(per_mille));
            assert!(found >= exact && found <= exact + exact / 8 + 1, "{per_mille}: {found}");
        }
        assert_eq!(all.quantile(1000), 10_000);
        assert_eq!(all.below_power(10), 1_023);
        assert_eq!(all.below_power(36), 10_000);
        assert_eq!(LatencySummary::default().quantile(500), 0);
    }
}
