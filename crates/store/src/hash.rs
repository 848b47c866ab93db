//! The hashes that are part of the file format: XXH3 (64 bits, seed 0) for verified hits, SHA-256 for hits that are not
//! verified, SipHash-1-3 with a key of the file for values of one set. Checksums are XXH3 with the number of the row as
//! its seed.

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// 64-bit hash of a shared set. Hits are verified.
pub(crate) fn value_hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Bytes of the key of a file.
pub(crate) const KEY: usize = 16;

/// The hash by which a value of an external set is found: SipHash-1-3 with the key of the file. All values with one
/// hash are looked at, and clients choose values: without a key they can make thousands with one hash. Files of format
/// 5 and older have no key, and XXH3.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberHash(Option<[u8; KEY]>);

impl MemberHash {
    /// With the key of a file.
    pub(crate) fn new(key: Option<[u8; KEY]>) -> Self {
        Self(key)
    }
    /// The key.
    pub(crate) fn key(self) -> Option<[u8; KEY]> {
        self.0
    }
    /// The hash of a normal form.
    pub(crate) fn of(self, normal: &[u8]) -> u64 {
        self.0.map_or_else(
            || value_hash(normal),
            |key| SipHasher13::new_with_key(&key).hash(normal),
        )
    }
}

/// The six low bytes of the hash, big-endian: equality and approximate index keys. Hits are verified.
pub(crate) fn index_hash(bytes: &[u8]) -> [u8; 6] {
    let [_, _, low @ ..] = xxh3_64(bytes).to_be_bytes();
    low
}

/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 4;

/// Tells whether the bytes of row `number` are still what was written there: the four low bytes of the hash,
/// big-endian.
pub(crate) fn checksum(number: u64, bytes: &[u8]) -> [u8; CHECKSUM] {
    let [_, _, _, _, low @ ..] = xxh3_64_with_seed(bytes, number).to_be_bytes();
    low
}

/// What one value adds to the checksum of a set that entry `id` has.
pub(crate) fn member(id: u64, value: &[u8]) -> u64 {
    xxh3_64_with_seed(value, id)
}

/// A hash that stands for its input: long names, digests.
pub(crate) fn strong_hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
