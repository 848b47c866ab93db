//! What tools of this project say to a server that has their database open, besides ordinary operations. Only the local
//! socket for tools knows these requests: they are not in the registry of extended operations.
//!
//! The value of each is a `SEQUENCE OF OCTET STRING`.

use ironbark_ber::{BerError, Reader, Writer, tags};

use crate::Fault;

/// Begins: name of the tool, and `stop` if no operation is executed after one that was refused.
pub const BEGIN: &str = "2.25.1246756151.4.1";
/// Builds indexes anew: name of a naming context, then attribute types.
pub const REINDEX: &str = "2.25.1246756151.4.2";
/// Raises the context vector: name of a naming context, then CSNs.
pub const RAISE_CONTEXT: &str = "2.25.1246756151.4.3";

/// Appends the value of a request.
pub fn encode_words(words: &[&[u8]], out: &mut Vec<u8>) {
    Writer::new(out).constructed(tags::SEQUENCE, |writer| {
        for word in words {
            writer.octet_string(word);
        }
    });
}

/// Reads the value of a request.
///
/// # Errors
/// `protocolError`.
pub fn decode_words(value: Option<&[u8]>) -> Result<Vec<&[u8]>, Fault> {
    let value = value.ok_or_else(|| Fault::protocol("no request data field"))?;
    let read = || -> Result<Vec<&[u8]>, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let mut words = Vec::new();
        while !content.is_empty() {
            words.push(content.octet_string()?);
        }
        Ok(words)
    };
    read().map_err(|_| Fault::protocol("data decoding error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for words in [&[][..], &[&b"cn"[..], b"", &[b'x'; 300]]] {
            let mut value = Vec::new();
            encode_words(words, &mut value);
            assert_eq!(decode_words(Some(&value)).unwrap(), words);
        }
        assert!(decode_words(None).is_err() && decode_words(Some(b"\x30\x05")).is_err());
    }
}
