//! Keys that someone has chosen to collide are nothing special for our maps, and ruin a map whose hash has no key.

use std::{
    cell::Cell,
    collections::HashSet,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

use ironbark_model::number_map::NumberHash;
use rustc_hash::FxBuildHasher;

const KEYS: u64 = 4096;

/// A key that counts how often it is compared.
struct Counted<'c, K>(K, &'c Cell<u64>);

impl<K: PartialEq> PartialEq for Counted<'_, K> {
    fn eq(&self, other: &Self) -> bool {
        self.1.set(self.1.get() + 1);
        self.0 == other.0
    }
}

impl<K: Eq> Eq for Counted<'_, K> {}

impl<K: Hash> Hash for Counted<'_, K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The comparisons that it takes to insert different keys.
#[allow(clippy::mutable_key_type, reason = "the count is no part of the comparison")]
fn comparisons<K: Hash + Eq, S: BuildHasher + Default>(keys: impl Iterator<Item = K>) -> u64 {
    let count = Cell::new(0);
    let mut set: HashSet<Counted<'_, K>, S> = HashSet::default();
    for key in keys {
        assert!(set.insert(Counted(key, &count)));
    }
    count.get()
}

/// Numbers whose hashes differ only in bits that choose neither the place nor the tag.
fn numbers() -> impl Iterator<Item = u64> {
    let rotation = 26;
    let factor = FxBuildHasher.hash_one(1_u64).rotate_right(rotation);
    // Newton's iteration doubles the number of right bits.
    let inverse = (0..6).fold(factor, |inverse: u64, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)))
    });
    assert_eq!(factor.wrapping_mul(inverse), 1);
    (0..KEYS).map(move |number| (number << 24).rotate_right(rotation).wrapping_mul(inverse))
}

/// Octets that begin with a constant of the hash, which makes a factor 0.
fn octets() -> impl Iterator<Item = Vec<u8>> {
    let zero = 0x243f_6a88_85a3_08d3_u64.to_le_bytes();
    (0..KEYS).map(move |number| [zero, number.to_le_bytes()].concat())
}

#[test]
fn keys_that_collide_without_a_key_do_not_collide_in_our_maps() {
    assert!(comparisons::<_, RandomState>(octets()) < KEYS);
    assert!(comparisons::<_, RandomState>(numbers()) < KEYS);
    assert!(comparisons::<_, NumberHash>(numbers()) < KEYS);
}

#[test]
fn they_ruin_a_map_whose_hash_has_no_key() {
    assert!(comparisons::<_, FxBuildHasher>(octets()) > KEYS * KEYS / 4);
    assert!(comparisons::<_, FxBuildHasher>(numbers()) > KEYS * KEYS / 4);
}

#[test]
fn numbers_in_a_row_and_multiples_are_spread() {
    let in_rows = [0, 1, 8, 16, 32, 48].map(|shift| {
        let all = (0..KEYS).map(|number| number << shift);
        comparisons::<_, NumberHash>(all)
    });
    assert!(in_rows.iter().all(|comparisons| *comparisons < KEYS), "{in_rows:?}");
}
