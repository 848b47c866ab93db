//! The hashes that are part of the file format: XXH3 (64 bits, seed 0) for verified hits, SHA-256 for hits that are not
//! verified. Checksums are XXH3 with the number of the row as its seed.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// 64-bit hash of a value: external value sets, shared sets. Hits are verified.
pub(crate) fn value_hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
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
