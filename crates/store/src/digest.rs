//! A digest of all entries that does not depend on entry IDs, on storage forms, or on the order of loading.
//!
//! For each entry SHA-256 of: length-prefixed (8 bytes, big-endian) normalized DN, then for each attribute in stored
//! order its length-prefixed description text, the number of values (8 bytes), and each value length-prefixed. The
//! digest is the sum of these modulo 2^256, big-endian.

use std::ops::ControlFlow;

use crate::{StoreError, View, hash};

impl View<'_> {
    /// The digest of all entries: equal for databases with equal entries.
    pub fn digest(&self) -> Result<[u8; 32], StoreError> {
        let mut sum = [0u8; 32];
        let mut bytes = Vec::new();
        for record in self.entries(0)? {
            let record = record?;
            bytes.clear();
            put(self.dn(record.id)?.normalized(), &mut bytes);
            for attribute in record.attributes() {
                put(attribute.name(), &mut bytes);
                bytes.extend_from_slice(&(attribute.len() as u64).to_be_bytes());
                attribute.for_each(&mut |value| {
                    put(value, &mut bytes);
                    ControlFlow::Continue(())
                })?;
            }
            add(&mut sum, &hash::strong_hash(&bytes));
        }
        Ok(sum)
    }
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn add(sum: &mut [u8; 32], other: &[u8; 32]) {
    let mut carry = 0u16;
    for (digit, other) in sum.iter_mut().zip(other).rev() {
        let [high, low] = (u16::from(*digit) + u16::from(*other) + carry).to_be_bytes();
        *digit = low;
        carry = u16::from(high);
    }
}
