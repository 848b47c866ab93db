//! The value of a key of the log: a batch, or where its parts are.
//!
//! ```text
//! byte     0 a batch, 1 its parts are elsewhere
//! 16 bytes chain of the place for which the batch was made
//! batch    the batch, or: 16 bytes mark, 4 bytes number of parts
//! ```

/// The greatest batch in one value, in bytes. A request to etcd may have 1.5 MiB.
pub(crate) const PART: usize = 512 << 10;
/// The most parts of a batch.
const MOST_PARTS: u32 = 1 << 16;

const WHOLE: u8 = 0;
const PARTS: u8 = 1;

/// What is at a key of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content<'v> {
    /// The batch.
    Whole(&'v [u8]),
    /// The mark of the batch, and the number of its parts.
    Parts([u8; 16], u32),
}

/// The value for a batch that is a part of it, or of which the parts were written.
pub(crate) fn encode(chain: [u8; 16], content: Content<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    match content {
        Content::Whole(batch) => {
            value.push(WHOLE);
            value.extend_from_slice(&chain);
            value.extend_from_slice(batch);
        }
        Content::Parts(mark, count) => {
            value.push(PARTS);
            value.extend_from_slice(&chain);
            value.extend_from_slice(&mark);
            value.extend_from_slice(&count.to_be_bytes());
        }
    }
    value
}

/// Reads a value: chain and content. `None`: malformed.
pub(crate) fn read(value: &[u8]) -> Option<([u8; 16], Content<'_>)> {
    let (form, rest) = value.split_first()?;
    let (chain, rest) = rest.split_first_chunk()?;
    let content = match *form {
        WHOLE => Content::Whole(rest),
        PARTS => {
            let (mark, count) = rest.split_first_chunk()?;
            let count = u32::from_be_bytes(count.try_into().ok()?);
            Content::Parts(*mark, Some(count).filter(|count| *count <= MOST_PARTS)?)
        }
        _ => return None,
    };
    Some((*chain, content))
}

/// The mark of a batch that was encoded by the store. `None`: it is none.
pub(crate) fn mark(batch: &[u8]) -> Option<[u8; 16]> {
    batch.get(2..18)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_says_what_was_written() {
        for content in [Content::Whole(b"batch"), Content::Parts([1; 16], 3)] {
            assert_eq!(read(&encode([2; 16], content)), Some(([2; 16], content)));
        }
        for wrong in [&[][..], &[0; 16], &[2; 40], &[1; 20], &[1, 255, 0]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        let endless = encode([2; 16], Content::Parts([1; 16], u32::MAX));
        assert_eq!(read(&endless), None);
    }
}
