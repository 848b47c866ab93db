//! Zipf's distribution, by the method of Gray and others (Quickly generating billion-record synthetic databases, SIGMOD
//! 1994).

use crate::generate::random::Random;

/// Ranks 0 to n-1. Low ranks are more frequent: rank r has a probability proportional to 1 / (r + 1)^0.99, as in YCSB.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    count: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    pub(super) fn new(count: u64) -> Self {
        let zeta = |count: u64| (1..=count).map(|rank| float(rank).powf(-THETA)).sum::<f64>();
        let all = zeta(count);
        Self {
            count,
            zeta: all,
            alpha: 1.0 / (1.0 - THETA),
            eta: (1.0 - (2.0 / float(count)).powf(1.0 - THETA)) / (1.0 - zeta(2.min(count)) / all),
        }
    }

    /// A rank.
    pub(super) fn rank(&self, random: &mut Random) -> u64 {
        let u = float(random.next() >> 11) / float(1 << 53);
        let scaled = u * self.zeta;
        let rank = if scaled < 1.0 {
            0
        } else if scaled < 1.0 + 0.5_f64.powf(THETA) {
            1
        } else {
            whole(float(self.count) * (self.eta * u - self.eta + 1.0).powf(self.alpha))
        };
        rank.min(self.count.saturating_sub(1))
    }

    /// The hashed rank, so that the popularity of neighbouring numbers is independent.
    pub(super) fn scattered(&self, random: &mut Random) -> u64 {
        let rank = self.rank(random);
        let hash = Random::for_entry(SCATTER_SEED, rank).next();
        hash % self.count.max(1)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a distribution")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

const THETA: f64 = 0.99;
const SCATTER_SEED: u64 = 0x7a69_7066;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        let zipf = Zipf::new(1_000);
        let mut random = Random::for_entry(1, 1);
        let mut counts = vec![0_u32; 1_000];
        for _ in 0..200_000 {
            counts[usize::try_from(zipf.rank(&mut random)).unwrap()] += 1;
        }
        let share = |rank: usize| f64::from(counts[rank]) / 200_000.0;
        // The harmonic number of 1,000 for 0.99 is 7.73.
        assert!((share(0) - 1.0 / 7.73).abs() < 0.01, "{}", share(0));
        assert!((share(1) - 0.5 / 7.73).abs() < 0.01, "{}", share(1));
        assert!(counts[..10].iter().sum::<u32>() > counts[500..].iter().sum::<u32>());
        assert!(counts[900..].iter().any(|count| *count > 0));
    }

    #[test]
    fn small_counts_stay_in_range() {
        for count in 1..5 {
            let zipf = Zipf::new(count);
            let mut random = Random::for_entry(1, count);
            assert!((0..1_000).all(|_| zipf.rank(&mut random) < count));
            assert!((0..1_000).all(|_| zipf.scattered(&mut random) < count));
        }
    }
}
