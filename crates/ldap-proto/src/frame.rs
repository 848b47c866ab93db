//! Framing: where a message in a receive buffer ends.

use ironbark_ber::{ErrorKind, Header, tags};

/// The octets at the start of the buffer are not an acceptable `LDAPMessage`; the connection cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// The first octet does not start a SEQUENCE.
    #[error("not a SEQUENCE")]
    NotASequence,
    /// The indefinite length form (RFC 4511 §5.1 forbids it).
    #[error("indefinite length")]
    IndefiniteLength,
    /// The message is longer than the limit.
    #[error("message of {length} octets exceeds the limit of {limit}")]
    TooLong {
        /// Length of the message with its header; `usize::MAX` when the length takes more than four octets.
        length: usize,
        /// The limit.
        limit: usize,
    },
}

/// Length of the first message in `buffer`, header included; `None` when the message is not complete yet.
///
/// `limit` is the longest accepted message in octets, without the header, as in slapd's `sockbuf_max_incoming`. The
/// header alone decides, so a message over the limit is refused before any of it is stored.
#[inline]
pub fn frame(buffer: &[u8], limit: usize) -> Result<Option<usize>, FrameError> {
    Ok(needed(buffer, limit)?.filter(|length| *length <= buffer.len()))
}

/// Length of the first message in `buffer`, header included, as soon as its header is complete. The caller makes room
/// for this many octets.
#[inline]
pub fn needed(buffer: &[u8], limit: usize) -> Result<Option<usize>, FrameError> {
    match buffer.first() {
        None => return Ok(None),
        Some(&tags::SEQUENCE) => {}
        Some(_) => return Err(FrameError::NotASequence),
    }
    match Header::parse(buffer) {
        Ok(None) => Ok(None),
        Ok(Some(header)) => {
            let length = header.header_length.saturating_add(header.content_length);
            if header.content_length > limit {
                return Err(FrameError::TooLong { length, limit });
            }
            Ok(Some(length))
        }
        Err(ErrorKind::IndefiniteLength) => Err(FrameError::IndefiniteLength),
        Err(_) => Err(FrameError::TooLong {
            length: usize::MAX,
            limit,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_messages_need_more() {
        for end in 0..7 {
            assert_eq!(frame(&[0x30, 0x05, 2, 1, 1, 0x42, 0][..end], 100), Ok(None));
        }
        assert_eq!(frame(&[0x30, 0x05, 2, 1, 1, 0x42, 0], 100), Ok(Some(7)));
        assert_eq!(frame(&[0x30, 0x05, 2, 1, 1, 0x42, 0, 0x30], 100), Ok(Some(7)));
    }

    #[test]
    fn the_limit_is_checked_from_the_header() {
        let header = [0x30, 0x84, 0x7f, 0xff, 0xff, 0xff];
        assert_eq!(
            frame(&header, 262_143),
            Err(FrameError::TooLong {
                length: 0x7fff_ffff + 6,
                limit: 262_143
            })
        );
        assert_eq!(frame(&[0x30, 0x82, 0x01, 0x00], 256), Ok(None));
        assert!(frame(&[0x30, 0x82, 0x01, 0x01], 256).is_err());
    }

    #[test]
    fn long_forms_of_the_length_are_tolerated() {
        assert_eq!(frame(&[0x30, 0x84, 0, 0, 0, 5, 2, 1, 1, 0x42, 0], 100), Ok(Some(11)));
        assert_eq!(
            frame(&[0x30, 0x85, 0, 0, 0, 0, 5, 2, 1, 1, 0x42, 0], 100),
            Err(FrameError::TooLong {
                length: usize::MAX,
                limit: 100
            })
        );
    }

    #[test]
    fn other_tags_and_indefinite_lengths_are_refused() {
        assert_eq!(frame(&[0x16, 0x03, 0x01], 100), Err(FrameError::NotASequence));
        assert_eq!(frame(&[0x30, 0x80], 100), Err(FrameError::IndefiniteLength));
    }
}
