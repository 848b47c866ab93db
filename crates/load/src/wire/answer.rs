//! Responses, read only as much as a load generator needs.

use ironbark_ber::{Header, tags};

/// The first message of a receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstMessage {
    /// Too few octets to decide.
    Incomplete,
    /// An entry, a reference or an intermediate response: the request continues. The message may be incomplete.
    Part {
        /// Message ID.
        id: u32,
        /// Whether it is an entry.
        is_entry: bool,
        /// Octets of the whole message.
        length: usize,
    },
    /// The result that ends a request.
    Result {
        /// Message ID; 0 for a notice of disconnection.
        id: u32,
        /// Result code.
        code: u32,
        /// Octets of the whole message.
        length: usize,
    },
}

/// The server sent something that is not an LDAP response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the server sent what is no LDAP response")]
pub struct Malformed;

/// Reads the first message of `buffer`.
///
/// # Errors
/// [`Malformed`]. Also for a message longer than a megabyte that is not an entry.
#[inline]
pub fn next_answer(buffer: &[u8]) -> Result<FirstMessage, Malformed> {
    let Some(outer) = header(buffer)? else {
        return Ok(FirstMessage::Incomplete);
    };
    if outer.identifier != tags::SEQUENCE {
        return Err(Malformed);
    }
    let length = outer.header_length.saturating_add(outer.content_length);
    let Some((id, rest)) = number(buffer.get(outer.header_length..).unwrap_or_default(), tags::INTEGER)? else {
        return Ok(FirstMessage::Incomplete);
    };
    let Some(operation) = header(rest)? else {
        return Ok(FirstMessage::Incomplete);
    };
    let part = |is_entry| Ok(FirstMessage::Part { id, is_entry, length });
    match operation.identifier {
        ENTRY => part(true),
        REFERENCE | INTERMEDIATE => part(false),
        BIND | SEARCH_DONE | MODIFY | ADD | DELETE | MODIFY_DN | COMPARE | EXTENDED => {
            if length > LONGEST_RESULT {
                return Err(Malformed);
            }
            if buffer.len() < length {
                return Ok(FirstMessage::Incomplete);
            }
            let content = rest.get(operation.header_length..).unwrap_or_default();
            let (code, _) = number(content, tags::ENUMERATED)?.ok_or(Malformed)?;
            Ok(FirstMessage::Result { id, code, length })
        }
        _ => Err(Malformed),
    }
}

#[inline]
fn header(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    Header::parse(bytes).map_err(|_| Malformed)
}

/// A number of at most four octets, and the rest after it. `None`: it has not arrived completely.
#[inline]
fn number(bytes: &[u8], identifier: u8) -> Result<Option<(u32, &[u8])>, Malformed> {
    let Some(header) = header(bytes)? else {
        return Ok(None);
    };
    if header.identifier != identifier || header.content_length == 0 || header.content_length > 4 {
        return Err(Malformed);
    }
    let end = header.header_length + header.content_length;
    let Some(octets) = bytes.get(header.header_length..end) else {
        return Ok(None);
    };
    let value = octets.iter().fold(0, |value, octet| (value << 8) | u32::from(*octet));
    Ok(Some((value, bytes.get(end..).unwrap_or_default())))
}

const ENTRY: u8 = tags::application_constructed(4);
const REFERENCE: u8 = tags::application_constructed(19);
const INTERMEDIATE: u8 = tags::application_constructed(25);
const BIND: u8 = tags::application_constructed(1);
const SEARCH_DONE: u8 = tags::application_constructed(5);
const MODIFY: u8 = tags::application_constructed(7);
const ADD: u8 = tags::application_constructed(9);
const DELETE: u8 = tags::application_constructed(11);
const MODIFY_DN: u8 = tags::application_constructed(13);
const COMPARE: u8 = tags::application_constructed(15);
const EXTENDED: u8 = tags::application_constructed(24);
const LONGEST_RESULT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: [u8; 15] = [0x30, 13, 2, 2, 0, 200, 0x65, 7, 10, 1, 4, 4, 0, 4, 0];

    #[test]
    fn a_result_is_read_when_it_is_whole() {
        for end in 0..DONE.len() {
            assert_eq!(next_answer(&DONE[..end]), Ok(FirstMessage::Incomplete), "{end}");
        }
        let result = FirstMessage::Result {
            id: 200,
            code: 4,
            length: 15,
        };
        assert_eq!(next_answer(&DONE), Ok(result));
        assert_eq!(next_answer(&[&DONE[..], &[0x30]].concat()), Ok(result));
    }

    #[test]
    fn an_entry_is_known_before_it_has_arrived() {
        let entry = [0x30, 0x84, 0, 1, 0, 0, 2, 1, 5, 0x64, 0x84, 0, 0, 0xFF, 0xF7];
        let part = FirstMessage::Part {
            id: 5,
            is_entry: true,
            length: 65_536 + 6,
        };
        assert_eq!(next_answer(&entry), Ok(part));
        assert_eq!(next_answer(&entry[..10]), Ok(FirstMessage::Incomplete));
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for bytes in [
            &[0x16, 3, 1, 0][..],
            &[0x30, 0x80, 2, 1],
            &[0x30, 9, 4, 1, 5, 0x65, 4, 10, 1, 0, 4],
            &[0x30, 9, 2, 5, 0, 0, 0, 0, 5, 0x65, 0],
            &[0x30, 5, 2, 1, 1, 0x63, 0],
            &[0x30, 5, 2, 1, 1, 0x65, 0],
            &[0x30, 0x84, 0, 0x20, 0, 0, 2, 1, 1, 0x65, 0],
        ] {
            assert_eq!(next_answer(bytes), Err(Malformed), "{bytes:x?}");
        }
    }
}
