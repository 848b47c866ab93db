//! Requests that are encoded in advance, one after the other in one piece of memory.

use ironbark_ldap_proto::Request;

use super::{RequestSlot, encode};

/// Encoded requests, numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Pool {
    /// Appends a request.
    pub fn push(&mut self, request: &Request<'_>) {
        encode(&mut self.bytes, RequestSlot::FIRST, request);
        self.ends.push(self.bytes.len());
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends request `number` to `out`, with the message ID of `slot`. Appends nothing if there is no such request.
    #[inline]
    pub fn copy(&self, number: usize, slot: RequestSlot, out: &mut Vec<u8>) {
        let begin = number
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied());
        let (Some(begin), Some(end)) = (begin, self.ends.get(number)) else {
            return;
        };
        let start = out.len();
        out.extend_from_slice(self.bytes.get(begin..*end).unwrap_or_default());
        slot.patch(out, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_request_encoded_for_its_slot() {
        let names: [&[u8]; 3] = [b"dc=a", b"", &[b'x'; 300]];
        let mut pool = Pool::default();
        for name in names {
            pool.push(&Request::Delete(name));
        }
        assert_eq!((pool.len(), pool.is_empty()), (3, false));
        let slot = RequestSlot::new(1234).unwrap();
        for (number, name) in names.into_iter().enumerate() {
            let (mut copied, mut encoded) = (Vec::new(), Vec::new());
            pool.copy(number, slot, &mut copied);
            encode(&mut encoded, slot, &Request::Delete(name));
            assert_eq!(copied, encoded);
        }
        let mut nothing = Vec::new();
        pool.copy(3, slot, &mut nothing);
        assert!(nothing.is_empty());
    }
}
