//! CRAM-MD5 (RFC 2195): the password's HMAC of a challenge. The server proves nothing.

use hmac::{Hmac, KeyInit, Mac};
use subtle::ConstantTimeEq as _;

use crate::hex;

/// The client's answer to a challenge.
pub struct CramMd5Response {
    /// The name of the user. It may be empty, and may contain blanks.
    pub user: String,
    digest: String,
}

/// The server's challenge. `nonce` has not been used before.
pub fn challenge(nonce: &str, host: &str) -> String {
    format!("<{nonce}@{host}>")
}

impl CramMd5Response {
    /// The answer of a client with this password.
    pub fn new(user: String, password: &[u8], challenge: &[u8]) -> Self {
        let digest = digest(password, challenge);
        Self { user, digest }
    }

    /// Reads an answer. `None`: it is not UTF-8, or has no blank.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok()?;
        let (user, digest) = text.rsplit_once(' ')?;
        Some(Self {
            user: user.to_owned(),
            digest: digest.to_owned(),
        })
    }

    /// The message.
    pub fn text(&self) -> String {
        format!("{} {}", self.user, self.digest)
    }

    /// Whether the answer to this challenge was made with this password.
    pub fn is_of(&self, password: &[u8], challenge: &[u8]) -> bool {
        digest(password, challenge)
            .as_bytes()
            .ct_eq(self.digest.as_bytes())
            .into()
    }
}

fn digest(password: &[u8], challenge: &[u8]) -> String {
    // HMAC takes keys of every length.
    <Hmac<md5::Md5> as KeyInit>::new_from_slice(password).map_or_else(
        |_| String::new(),
        |mac| hex(&mac.chain_update(challenge).finalize().into_bytes()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_ends_at_the_last_blank() {
        let response = CramMd5Response::parse(b"tim of x 00").unwrap();
        assert_eq!((&*response.user, &*response.digest), ("tim of x", "00"));
        assert_eq!(response.text(), "tim of x 00");
    }

    #[test]
    fn malformed_answers_are_refused() {
        for message in [&b""[..], b"tim", b"\xff 00"] {
            assert!(CramMd5Response::parse(message).is_none(), "{message:?}");
        }
    }
}
