//! Sums over all entries by which replicas are compared.
//!
//! The first 12 bits of the entryUUID choose one of 4,096 buckets. A bucket is the sum, modulo 2^128, of the first 16
//! octets of the SHA-256 of entryUUID (16 octets) and entryCSN (14 octets packed, 2 of the server ID; zeros if there is
//! none). Entries without entryUUID, such as glue, do not count.
//!
//! The sums are computed when they are asked for, and kept until the next commit. Kept in the file, each change would
//! write the page of a random bucket (96 KiB of rows), one page more for a commit of a single change.

use std::sync::{Arc, Mutex};

use crate::{ContextVector, Record, StoreError, Version, hash};

/// Number of buckets.
pub const BUCKETS: usize = 4_096;

/// The sums of one snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BucketSums {
    /// Number of the last change.
    pub sequence: u64,
    /// The context vector.
    pub vector: ContextVector,
    /// Entries that count.
    pub entries: u64,
    /// One sum for each bucket.
    pub sums: Vec<u128>,
}

impl BucketSums {
    /// The sum of all buckets: equal for databases whose entries have the same UUIDs and CSNs.
    pub fn root(&self) -> u128 {
        self.sums.iter().fold(0, |root: u128, sum| root.wrapping_add(*sum))
    }
}

/// The bucket of an entryUUID.
pub fn bucket_of(entry_uuid: &[u8; 16]) -> usize {
    let [first, second, ..] = *entry_uuid;
    usize::from(u16::from_be_bytes([first, second]) >> 4)
}

/// The last sums, with the number of the commit that they are of.
pub(crate) type KnownSums = Mutex<Option<(Version, Arc<BucketSums>)>>;

/// What an entry adds to which bucket.
pub(crate) fn share_of(record: &Record<'_>) -> Result<Option<(usize, u128)>, StoreError> {
    let Some(uuid) = record.entry_uuid()?.filter(|_| !record.is_glue()) else {
        return Ok(None);
    };
    let mut bytes = [0; 32];
    let csn = record.entry_csn()?.unwrap_or_default().octets();
    bytes
        .iter_mut()
        .zip(uuid.into_iter().chain(csn))
        .for_each(|(byte, part)| *byte = part);
    let mut share = [0; 16];
    share
        .iter_mut()
        .zip(hash::strong_hash(&bytes))
        .for_each(|(byte, part)| *byte = part);
    Ok(Some((bucket_of(&uuid), u128::from_be_bytes(share))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_twelve_bits_choose_the_bucket() {
        let mut uuid = [0; 16];
        assert_eq!(bucket_of(&uuid), 0);
        uuid[..2].copy_from_slice(&[0xab, 0xcf]);
        assert_eq!(bucket_of(&uuid), 0xabc);
        assert_eq!(bucket_of(&[0xff; 16]), BUCKETS - 1);
    }
}
