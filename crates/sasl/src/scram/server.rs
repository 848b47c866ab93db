//! The server's two messages (RFC 5802 §5.1, §7).

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::ScramError;

/// `server-first-message`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerFirst<'m> {
    /// The whole message, which proof and signature are made of.
    pub text: &'m str,
    /// The client's nonce, followed by the server's.
    pub nonce: &'m str,
    /// It is not empty.
    pub salt: Vec<u8>,
    /// `iteration-count`, of any value: the client decides which it accepts.
    pub rounds: u32,
}

/// `server-final-message`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerFinal<'m> {
    /// `v`: the `ServerSignature`, of any length.
    Signature(Vec<u8>),
    /// `e`: why the server refuses, with any characters.
    Error(&'m str),
}

/// Octets of a message.
const MAX_MESSAGE: usize = 4_096;

/// `server-first-message`. `nonce` is the client's, followed by the server's own.
pub fn server_first(nonce: &str, salt: &[u8], rounds: u32) -> String {
    format!("r={nonce},s={},i={rounds}", STANDARD.encode(salt))
}

/// `server-final-message` of a server that accepts the client.
pub fn server_final(signature: &[u8]) -> String {
    format!("v={}", STANDARD.encode(signature))
}

impl<'m> ServerFirst<'m> {
    /// Extensions behind the rounds are skipped. `m`, one that must be understood, comes first and fails.
    ///
    /// # Errors
    /// The message is malformed, or has more than 4,096 octets.
    pub fn parse(message: &'m [u8]) -> Result<Self, ScramError> {
        if message.len() > MAX_MESSAGE {
            return Err(ScramError::TooLong);
        }
        let text = std::str::from_utf8(message).map_err(|_| ScramError::NotUtf8)?;
        let mut parts = text.split(',');
        let mut part = |prefix: &str| parts.next().and_then(|part| part.strip_prefix(prefix));
        let nonce = part("r=").ok_or(ScramError::Nonce)?;
        let salt = part("s=").ok_or(ScramError::Salt)?;
        let rounds = part("i=").ok_or(ScramError::Rounds)?;
        let salt = STANDARD.decode(salt).map_err(|_| ScramError::Base64)?;
        if salt.is_empty() {
            return Err(ScramError::Salt);
        }
        let rounds = rounds.parse().map_err(|_| ScramError::Rounds)?;
        Ok(Self {
            text,
            nonce,
            salt,
            rounds,
        })
    }
}

impl<'m> ServerFinal<'m> {
    /// # Errors
    /// The message is malformed.
    pub fn parse(message: &'m [u8]) -> Result<Self, ScramError> {
        let text = std::str::from_utf8(message).map_err(|_| ScramError::NotUtf8)?;
        if let Some(error) = text.strip_prefix("e=") {
            return Ok(Self::Error(error));
        }
        let signature = text.strip_prefix("v=").and_then(|text| text.split(',').next());
        let signature = signature.ok_or(ScramError::Signature)?;
        let octets = STANDARD.decode(signature).map_err(|_| ScramError::Base64)?;
        Ok(Self::Signature(octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_and_read() {
        let text = server_first("abcd", b"salt", 4_096);
        assert_eq!(text, "r=abcd,s=c2FsdA==,i=4096");
        let text = format!("{text},x=y");
        let first = ServerFirst::parse(text.as_bytes()).unwrap();
        assert_eq!((first.text, first.nonce), (&*text, "abcd"));
        assert_eq!((&*first.salt, first.rounds), (&b"salt"[..], 4_096));
        assert_eq!(server_final(b"salt"), "v=c2FsdA==");
        let signature = ServerFinal::Signature(b"salt".to_vec());
        assert_eq!(ServerFinal::parse(b"v=c2FsdA==,x=y").unwrap(), signature);
        let error = ServerFinal::Error("other-error");
        assert_eq!(ServerFinal::parse(b"e=other-error").unwrap(), error);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let long = format!("r=a,s={},i=4096", "A".repeat(MAX_MESSAGE));
        for text in [
            "",
            "r=a",
            "r=a,s=AAAA",
            "s=AAAA,r=a,i=4096",
            "r=a,s=?,i=4096",
            "r=a,s=,i=4096",
            "r=a,s=AAAA,i=-1",
            "r=a,s=AAAA,i=4294967296",
            "m=x,r=a,s=AAAA,i=4096",
            &long,
        ] {
            assert!(ServerFirst::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(ServerFirst::parse(b"r=\xff").unwrap_err(), ScramError::NotUtf8);
        for text in [&b""[..], b"v", b"v=?", b"x=AAAA", b"\xff"] {
            assert!(ServerFinal::parse(text).is_err(), "{text:?}");
        }
    }
}
