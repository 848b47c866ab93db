//! Maps and sets of numbers that we give ourselves: entry IDs, attribute numbers, numbers of connections.
//!
//! All other maps are those of the standard library. Their hash is SipHash-1-3 with random keys: nobody can choose keys
//! that collide, even by watching how long answers take. It costs tens of instructions for a number, which is too much
//! for a look-up for each entry.
//!
//! Here a number is multiplied by one random number of 128 bits, another one is added, and the higher half is the hash:
//! the hashes of two different numbers are two random numbers, independent of each other (Dietzfelbinger, *Universal
//! hashing and k-wise independent random variables via integer arithmetic without primes*, 1996). So they share one of
//! `m` buckets with a probability of 1/m, also if somebody has chosen them who cannot watch. Numbers in a row give
//! hashes in a row, at a random distance; a last mixing, which gives different hashes to different ones, spreads them
//! too.
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
pub struct NumberHash {
    factor: u128,
    addend: u128,
}

/// The hash of one number.
#[derive(Debug)]
pub struct NumberHasher {
    key: NumberHash,
    hash: u64,
}

impl NumberHash {
    /// A number for a name, as a key of a map. Two names may have the same number, if only by chance as long as nobody
    /// watches: compare the names, and keep one for each number.
    #[must_use]
    pub fn number_of(self, name: &[u8]) -> u64 {
        let mut hasher = self.build_hasher();
        let (words, rest) = name.as_chunks();
        for word in words {
            hasher.write_u64(u64::from_le_bytes(*word));
        }
        let last = rest
            .iter()
            .fold(name.len() as u64, |last, octet| last << 8 | u64::from(*octet));
        hasher.write_u64(last);
        hasher.hash
    }
}

impl Default for NumberHash {
    fn default() -> Self {
        static KEY: LazyLock<NumberHash> = LazyLock::new(|| {
            let half = || u128::from(RandomState::new().hash_one(()));
            let [factor, addend] = [(); 2].map(|()| half() << 64 | half());
            NumberHash { factor, addend }
        });
        *KEY
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher { key: *self, hash: 0 }
    }
}

impl Hasher for NumberHasher {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = self.key.factor.wrapping_mul(u128::from(self.hash ^ number));
        // The high half: it fits.
        self.hash = u64::try_from(product.wrapping_add(self.key.addend) >> 64).unwrap_or_default();
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.hash ^ self.hash >> 32).wrapping_mul(ODD);
        mixed ^ mixed >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_one_octet_or_in_length_have_different_numbers() {
        let hash = NumberHash::default();
        let names: Vec<Vec<u8>> = (0..40)
            .flat_map(|length| (0..length).map(move |at| (0..length).map(|place| u8::from(place == at)).collect()))
            .chain((0..40).map(|length| vec![0; length]))
            .collect();
        let numbers: NumberSet = names.iter().map(|name| hash.number_of(name)).collect();
        assert_eq!(numbers.len(), names.len());
        assert_eq!(
            hash.number_of(b"ou=people,dc=x"),
            NumberHash::default().number_of(b"ou=people,dc=x")
        );
    }
}
