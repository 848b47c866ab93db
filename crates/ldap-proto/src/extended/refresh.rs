//! Refresh of dynamic entries (RFC 2589).

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::Fault;

/// OID of the request and of the response.
pub const OID: &str = "1.3.6.1.4.1.1466.101.119.1";

/// Longest time to live, in seconds: a year and a day.
pub const MAX_TTL_S: i64 = 31_557_600;

/// The diagnostic for an invalid time to live.
pub const INVALID_TTL: &str = "invalid time-to-live for dynamicObject";

/// A refresh request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshRequest<'a> {
    /// The name of the dynamic entry.
    pub entry: &'a [u8],
    /// The new time to live, in seconds: 0 to [`MAX_TTL_S`].
    pub ttl_s: i64,
}

impl<'a> RefreshRequest<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, Fault> {
        let request = match value {
            None => return Err(Fault::protocol("no request data field")),
            Some([]) => return Err(Fault::protocol("empty request data field")),
            Some(value) => Self::read(value).map_err(|_| Fault::protocol("data decoding error"))?,
        };
        if !(0..=MAX_TTL_S).contains(&request.ttl_s) {
            return Err(Fault::protocol(INVALID_TTL));
        }
        Ok(request)
    }

    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let request = Self {
            entry: content.element(ENTRY)?,
            ttl_s: content.integer_i64(TTL)?,
        };
        content.finish()?;
        Ok(request)
    }

    /// Appends the value of a request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            writer.element(ENTRY, self.entry);
            writer.integer_of(TTL, self.ttl_s);
        });
    }
}

/// Appends the value of a response: the time to live of the entry.
pub fn encode_response(out: &mut Vec<u8>, ttl_s: i64) {
    Writer::new(out).constructed(tags::SEQUENCE, |writer| writer.integer_of(RESPONSE_TTL, ttl_s));
}

/// The time to live of the entry, from the value of a response.
///
/// # Errors
/// `protocolError`.
pub fn decode_response(value: &[u8]) -> Result<i64, Fault> {
    Ok(Reader::new(value).sequence()?.integer_i64(RESPONSE_TTL)?)
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::OfOverlay,
    oid: OID,
    name: "Refresh",
    // As in slapd.
    advertised: false,
    writes: true,
};

const ENTRY: u8 = tags::context(0);
const TTL: u8 = tags::context(1);
const RESPONSE_TTL: u8 = tags::context(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_responses_come_back_and_what_is_malformed_is_refused() {
        let request = RefreshRequest {
            entry: b"cn=a,dc=ex",
            ttl_s: 86_400,
        };
        let (mut value, mut response) = (Vec::new(), Vec::new());
        request.encode(&mut value);
        assert_eq!(RefreshRequest::decode(Some(&value)), Ok(request));
        encode_response(&mut response, 300);
        assert_eq!(decode_response(&response), Ok(300));
        for length in 0..value.len() {
            assert!(RefreshRequest::decode(value.get(..length)).is_err(), "{length}");
        }
        for ttl_s in [-1, MAX_TTL_S + 1] {
            let mut value = Vec::new();
            RefreshRequest { ttl_s, ..request }.encode(&mut value);
            assert!(RefreshRequest::decode(Some(&value)).is_err(), "{ttl_s}");
        }
        assert!(RefreshRequest::decode(None).is_err());
    }
}
