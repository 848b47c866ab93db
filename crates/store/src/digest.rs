//! Digests of all entries that do not depend on entry IDs, on storage forms, or on the order of loading.
//!
//! For each entry SHA-256 of: length-prefixed (8 bytes, big-endian) normalized DN, then for each attribute in stored
//! order its length-prefixed description text, the number of values (8 bytes), and each value length-prefixed. The
//! digest is the sum of these modulo 2^256, big-endian. For the digest of the content the attributes are sorted by
//! their text, and the values by their octets.

use std::ops::ControlFlow;

use crate::{StoreError, View, hash};

impl View<'_> {
    /// The digest of all entries: equal for databases with equal entries.
    pub fn digest(&self) -> Result<[u8; 32], StoreError> {
        self.sum(Order::Stored)
    }

    /// The digest of all entries as LDAP has them, sets of attributes and of values: equal for a provider and its
    /// consumers, which keep what they have where it is.
    pub fn content_digest(&self) -> Result<[u8; 32], StoreError> {
        self.sum(Order::Sorted)
    }

    fn sum(&self, order: Order) -> Result<[u8; 32], StoreError> {
        let mut sum = [0u8; 32];
        let mut bytes = Vec::new();
        for record in self.entries(0)? {
            let record = record?;
            bytes.clear();
            put(self.dn(record.id)?.normalized(), &mut bytes);
            let mut attributes = Vec::new();
            for attribute in record.attributes() {
                let mut values = Vec::with_capacity(attribute.len());
                attribute.for_each(&mut |value| {
                    values.push(value.to_vec());
                    ControlFlow::Continue(())
                })?;
                if order == Order::Sorted {
                    values.sort_unstable();
                }
                attributes.push((attribute.name(), values));
            }
            if order == Order::Sorted {
                attributes.sort_unstable();
            }
            for (name, values) in attributes {
                put(name, &mut bytes);
                bytes.extend_from_slice(&(values.len() as u64).to_be_bytes());
                for value in values {
                    put(&value, &mut bytes);
                }
            }
            add(&mut sum, &hash::strong_hash(&bytes));
        }
        Ok(sum)
    }
}

/// The order of attributes and values in a digest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Stored,
    Sorted,
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
