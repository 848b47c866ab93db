//! A small deterministic random number generator (SplitMix64).
//!
//! Each entry has its own generator, made from the seed and the entry's number. So an entry is the same whatever the
//! number of entries, and can be made again without the entries before it.

/// SplitMix64; the same sequence on every machine.
pub(crate) struct Random(u64);

impl Random {
    /// The generator of entry `number` in the data set of `seed`.
    pub(crate) fn for_entry(seed: u64, number: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        random.next();
        random
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `limit - 1`; 0 when `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(limit)) >> 64).unwrap_or(0)
    }

    /// One of the items, each with the same probability; the type's default when there are none.
    pub(crate) fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let index = self.below(u64::try_from(items.len()).unwrap_or(0));
        usize::try_from(index)
            .ok()
            .and_then(|index| items.get(index))
            .copied()
            .unwrap_or_default()
    }

    /// One of the items. The first ones are drawn more often, as names of people are distributed.
    pub(crate) fn pick_skewed<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let limit = u64::try_from(items.len()).unwrap_or(0);
        let bound = self.below(limit).saturating_add(1);
        let index = self.below(bound);
        usize::try_from(index)
            .ok()
            .and_then(|index| items.get(index))
            .copied()
            .unwrap_or_default()
    }

    /// Whether an event of the given percentage happens.
    pub(crate) fn percent(&mut self, percentage: u64) -> bool {
        self.below(100) < percentage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_sequence() {
        let mut a = Random::for_entry(1, 2);
        let mut b = Random::for_entry(1, 2);
        let mut c = Random::for_entry(1, 3);
        let first: Vec<u64> = (0..8).map(|_| a.next()).collect();
        assert_eq!(first, (0..8).map(|_| b.next()).collect::<Vec<_>>());
        assert_ne!(first, (0..8).map(|_| c.next()).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_stay_below_the_limit_and_reach_it() {
        let mut random = Random::for_entry(7, 0);
        let drawn: Vec<u64> = (0..1000).map(|_| random.below(10)).collect();
        assert!((0..10).all(|number| drawn.contains(&number)));
        assert!(drawn.iter().all(|number| *number < 10));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<&str>(&[]), "");
    }
}
