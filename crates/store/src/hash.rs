//! The hashes that are part of the file format: XXH3 (64 bits, seed 0) where a hit is verified, SHA-256 where it is not.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

/// 64-bit hash of a value: external value sets, shared sets. Hits are verified.
pub(crate) fn value_hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The six low bytes of the hash, big-endian: equality and approximate index keys. Hits are verified.
pub(crate) fn index_hash(bytes: &[u8]) -> [u8; 6] {
    let [_, _, low @ ..] = xxh3_64(bytes).to_be_bytes();
    low
}

/// A hash that stands for its input: long names, digests.
pub(crate) fn strong_hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
