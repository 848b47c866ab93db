//! Sums over all entries by which replicas are compared.
//!
//! The first 12 bits of the entryUUID choose one of 4,096 buckets. A bucket is the sum, modulo 2^128, of the first 16
//! octets of the SHA-256 of entryUUID (16 octets), entryCSN (14 octets packed, 2 of the server ID; zeros if there is
//! none), the entryUUID of the closest superior that is no glue (zeros if there is none), and the normalized RDNs below
//! it, each behind a comma. The name of the topmost entry does not count, nor do entries without entryUUID, such as
//! glue.
//!
//! The sums are computed when they are asked for, and kept until the next commit. Kept in the file, each change would
//! write the page of a random bucket (96 KiB of rows), one page more for a commit of a single change.

use std::sync::{Arc, Mutex};

use ironbark_model::{Dn, number_map::NumberMap};

use crate::{ContextVector, EntryId, Record, StoreError, Version, View, hash};

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
    /// The sum of all buckets: equal for databases whose entries have the same UUIDs, CSNs and places.
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

/// What entries add to the buckets.
pub(crate) struct Shares<'v> {
    view: View<'v>,
    /// Superiors of recent entries.
    above: NumberMap<Above>,
    /// Memory for a name.
    name: Dn,
}

/// A superior, as its subordinates are told apart by it.
#[derive(Clone)]
struct Above {
    /// entryUUID of the closest superior that is no glue, this one or one above it; zeros: there is none.
    uuid: [u8; 16],
    /// Normalized RDNs from there down to this one; empty if it is no glue itself.
    rdns: Vec<u8>,
}

/// Superiors that are remembered; beyond this number they are read again.
const MOST_ABOVE: usize = 4_096;
/// Deepest glue that is looked through.
const MOST_LEVELS: usize = 1_000;

impl<'v> Shares<'v> {
    pub(crate) fn new(view: View<'v>) -> Self {
        Self {
            view,
            above: NumberMap::default(),
            name: Dn::default(),
        }
    }

    /// What an entry adds to which bucket. `None`: it does not count.
    pub(crate) fn of(&mut self, record: &Record<'_>) -> Result<Option<(usize, u128)>, StoreError> {
        let Some(uuid) = record.entry_uuid()?.filter(|_| !record.is_glue()) else {
            return Ok(None);
        };
        let above = self.above(record.parent(), 0)?;
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&uuid);
        bytes.extend_from_slice(&record.entry_csn()?.unwrap_or_default().octets());
        bytes.extend_from_slice(&above.uuid);
        bytes.extend_from_slice(&above.rdns);
        self.put_rdn(record, &mut bytes);
        let mut share = [0; 16];
        share
            .iter_mut()
            .zip(hash::strong_hash(&bytes))
            .for_each(|(byte, part)| *byte = part);
        Ok(Some((bucket_of(&uuid), u128::from_be_bytes(share))))
    }

    fn above(&mut self, id: EntryId, level: usize) -> Result<Above, StoreError> {
        const NONE: Above = Above {
            uuid: [0; 16],
            rdns: Vec::new(),
        };
        if let Some(known) = self.above.get(&id) {
            return Ok(known.clone());
        }
        let Some(record) = self.view.record(id)?.filter(|_| id != 0 && level < MOST_LEVELS) else {
            return Ok(NONE);
        };
        let found = if record.is_glue() {
            let mut above = self.above(record.parent(), level + 1)?;
            self.put_rdn(&record, &mut above.rdns);
            above
        } else {
            Above {
                uuid: record.entry_uuid()?.unwrap_or_default(),
                ..NONE
            }
        };
        if self.above.len() >= MOST_ABOVE {
            self.above.clear();
        }
        self.above.insert(id, found.clone());
        Ok(found)
    }

    /// Appends the normalized RDN; of a topmost entry nothing: its name may be another one at each server.
    fn put_rdn(&mut self, record: &Record<'_>, out: &mut Vec<u8>) {
        let rdn = record.rdn().as_bytes();
        if record.parent() == 0 {
            return;
        }
        out.push(b',');
        // A name that cannot be read under the schema of today counts as it is written.
        match self.name.parse_into(self.view.schema(), rdn) {
            Ok(()) => out.extend_from_slice(self.name.normalized()),
            Err(_) => out.extend_from_slice(rdn),
        }
    }
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
