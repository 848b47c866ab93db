//! Requests with a message ID of fixed length, so that the ID can be put into an encoded message.

use ironbark_ldap_proto::{MessageId, Request, message::encode_request};

/// A slot for a request under way on a connection, from 0. Its message ID always takes two octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestSlot(u16);

impl RequestSlot {
    /// The most slots of a connection.
    pub const MOST: u16 = 32_000;

    /// The first one.
    pub const FIRST: Self = Self(0);

    /// `None` for a number that is too large.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::MOST { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The slot of a message ID.
    pub fn of_message_id(id: u32) -> Option<Self> {
        id.checked_sub(FIRST_ID)
            .and_then(|number| Self::new(u16::try_from(number).ok()?))
    }

    fn message_id(self) -> MessageId {
        MessageId::new(i32::from(self.0) + FIRST_ID_I32).unwrap_or_default()
    }

    /// Puts the slot's message ID into the encoded request that begins at `start` of `out`.
    pub(crate) fn patch(self, out: &mut [u8], start: usize) {
        let Some(message) = out.get_mut(start..) else { return };
        let extra = message
            .get(1)
            .map_or(0, |length| if *length < 0x80 { 0 } else { usize::from(*length & 0x7F) });
        // `30 length 02 02 id id`.
        if let Some(id) = message.get_mut(4 + extra..6 + extra) {
            id.copy_from_slice(&(self.0 + FIRST_ID_U16).to_be_bytes());
        }
    }
}

/// Appends a request with the message ID of `slot`.
pub fn encode(out: &mut Vec<u8>, slot: RequestSlot, request: &Request<'_>) {
    encode_request(out, slot.message_id(), request, &[]);
}

/// The first ID that takes two octets.
const FIRST_ID: u32 = 128;
const FIRST_ID_U16: u16 = 128;
const FIRST_ID_I32: i32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_ldap_proto::{DecodeLimits, RequestMessage};

    #[test]
    fn a_patched_request_is_the_request_encoded_with_that_id() {
        let long = vec![b'x'; 70_000];
        for name in [&b"dc=com"[..], &long[..200], &long] {
            let request = Request::Delete(name);
            let mut patched = b"before".to_vec();
            encode(&mut patched, RequestSlot::new(0).unwrap(), &request);
            for number in [0, 1, 127, 128, 4095, RequestSlot::MOST - 1] {
                let slot = RequestSlot::new(number).unwrap();
                slot.patch(&mut patched, 6);
                let message = RequestMessage::decode(&patched[6..], &DecodeLimits::default()).unwrap();
                let id = u32::try_from(message.id.value()).unwrap();
                assert_eq!(RequestSlot::of_message_id(id), Some(slot));
                assert_eq!(message.operation, request);
            }
        }
    }

    #[test]
    fn other_message_ids_have_no_slot() {
        assert_eq!(RequestSlot::new(RequestSlot::MOST), None);
        for id in [0, 1, 127, 128 + u32::from(RequestSlot::MOST), u32::MAX] {
            assert_eq!(RequestSlot::of_message_id(id), None);
        }
    }
}
