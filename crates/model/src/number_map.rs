//! Maps and sets of numbers that we give ourselves: entry IDs, attribute numbers, numbers of connections.
//!
//! All other maps are those of the standard library. Their hash is SipHash-1-3 with random keys: nobody can choose keys
//! that collide, even by watching how long answers take. It costs tens of instructions for a number, which is too much
//! for a look-up for each entry.
//!
//! Here a number is multiplied by one random number of 128 bits. Two different numbers, chosen without knowing it,
//! share one of `m` buckets with a probability of at most 2/m (Dietzfelbinger et al., *A reliable randomized algorithm
//! for the closest-pair problem*, 1997). That holds for numbers that others have chosen too, if they cannot watch.
//!
//! The order of the elements of any map differs from process to process: nothing that is seen may depend on it.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, Hasher, RandomState},
    sync::LazyLock,
};

/// A map from numbers.
pub type NumberMap<V> = HashMap<u64, V, NumberHash>;

/// A set of numbers.
pub type NumberSet = HashSet<u64, NumberHash>;

/// The hash of [`NumberMap`] and [`NumberSet`]. `cargo xtask tidy` refuses its name elsewhere, so that no other keys
/// are hashed by it.
#[derive(Clone, Copy, Debug)]
pub struct NumberHash(u128);

/// The hash of one number.
#[derive(Debug)]
pub struct NumberHasher {
    factor: u128,
    hash: u64,
}

impl Default for NumberHash {
    fn default() -> Self {
        static FACTOR: LazyLock<u128> = LazyLock::new(|| {
            let half = || u128::from(RandomState::new().hash_one(()));
            half() << 64 | half() | 1
        });
        Self(*FACTOR)
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher {
            factor: self.0,
            hash: 0,
        }
    }
}

impl Hasher for NumberHasher {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = self.factor.wrapping_mul(u128::from(self.hash ^ number));
        // The high half: it fits.
        self.hash = u64::try_from(product >> 64).unwrap_or_default();
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }
}
