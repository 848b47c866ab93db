//! Changes from other servers that the context vector does not cover yet.

use std::collections::BTreeSet;

use crate::csn::ContextVector;

/// They are covered when the vector has all of the CSNs, and each of the servers has sent its next cookie.
#[derive(Default)]
pub(crate) struct Uncovered {
    /// The number of the first one.
    pub(crate) first: u64,
    /// The greatest CSN of each server among them.
    pub(crate) csns: ContextVector,
    /// The servers that sent those whose CSN says nothing: the vector had it before.
    pub(crate) open: BTreeSet<u16>,
}

impl Uncovered {
    /// The number, how many servers there are, and their IDs, all of them big-endian; then the vector.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut octets = self.first.to_be_bytes().to_vec();
        // There are 4,097 IDs.
        let count = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
        octets.extend_from_slice(&count.to_be_bytes());
        octets.extend(self.open.iter().flat_map(|server| server.to_be_bytes()));
        octets.extend_from_slice(&self.csns.encode());
        octets
    }

    pub(crate) fn decode(octets: &[u8]) -> Option<Self> {
        let (first, octets) = octets.split_first_chunk()?;
        let (count, octets) = octets.split_first_chunk()?;
        let (servers, csns) = octets.split_at_checked(2 * usize::from(u16::from_be_bytes(*count)))?;
        let servers = servers.as_chunks().0.iter();
        Some(Self {
            first: u64::from_be_bytes(*first),
            csns: ContextVector::decode(csns)?,
            open: servers.map(|server| u16::from_be_bytes(*server)).collect(),
        })
    }
}
