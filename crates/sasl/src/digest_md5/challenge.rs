//! The server's challenge (RFC 2831 §2.1.1).

use std::fmt::Write as _;

use super::{
    DigestError,
    directive::{each, quoted, text_of},
};

/// `digest-challenge`, for `qop=auth` and `md5-sess`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Challenge {
    /// It has not been used before, and is not empty.
    pub nonce: String,
    /// The realms among which the client chooses.
    pub realms: Vec<String>,
    /// The client began with a response to a nonce that is no longer accepted.
    pub is_stale: bool,
    /// Whether names and passwords are UTF-8.
    pub is_utf8: bool,
}

/// Octets of a challenge (RFC 2831 §2.1.1).
pub(crate) const MAX_CHALLENGE: usize = 2_048;

impl Challenge {
    /// # Errors
    /// The message has more than 2,048 octets or is malformed; [`DigestError::LayerDemanded`]: nothing else is wrong,
    /// but the server does not offer `auth`.
    pub fn parse(message: &[u8]) -> Result<Self, DigestError> {
        let mut challenge = Self::default();
        let (mut has_qop, mut offers_auth, mut is_session) = (false, false, false);
        each(text_of(message, MAX_CHALLENGE)?, |name, value| {
            match name {
                "nonce" if challenge.nonce.is_empty() => challenge.nonce = value,
                "nonce" => return Err(DigestError::Twice),
                "realm" => challenge.realms.push(value),
                "qop" => {
                    has_qop = true;
                    offers_auth |= value.split(',').any(|word| word.trim() == "auth");
                }
                "stale" => challenge.is_stale = value.eq_ignore_ascii_case("true"),
                "charset" => challenge.is_utf8 = value.eq_ignore_ascii_case("utf-8"),
                "algorithm" => is_session = value.eq_ignore_ascii_case("md5-sess"),
                _ => {}
            }
            Ok(())
        })?;
        if challenge.nonce.is_empty() {
            return Err(DigestError::Missing);
        }
        if !is_session {
            return Err(DigestError::Algorithm);
        }
        if has_qop && !offers_auth {
            return Err(DigestError::LayerDemanded);
        }
        Ok(challenge)
    }

    /// The message.
    pub fn text(&self) -> String {
        let mut text = format!("nonce={}", quoted(&self.nonce));
        for realm in &self.realms {
            // Writing to a string cannot fail.
            let _ = write!(text, ",realm={}", quoted(realm));
        }
        text.push_str(",qop=\"auth\"");
        if self.is_stale {
            text.push_str(",stale=true");
        }
        if self.is_utf8 {
            text.push_str(",charset=utf-8");
        }
        text.push_str(",algorithm=md5-sess");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_written_and_read() {
        let challenge = Challenge {
            nonce: "abc".to_owned(),
            realms: vec!["a\"b".to_owned(), String::new()],
            is_stale: true,
            is_utf8: true,
        };
        let text = "nonce=\"abc\",realm=\"a\\\"b\",realm=\"\",qop=\"auth\",stale=true,charset=utf-8,algorithm=md5-sess";
        assert_eq!(challenge.text(), text);
        assert_eq!(Challenge::parse(text.as_bytes()).unwrap(), challenge);
    }

    #[test]
    fn malformed_challenges_are_refused() {
        let long = format!("nonce=\"{}\",algorithm=md5-sess", "a".repeat(MAX_CHALLENGE));
        for (text, error) in [
            ("", DigestError::Missing),
            ("nonce=\"a\"", DigestError::Algorithm),
            ("algorithm=md5-sess", DigestError::Missing),
            ("nonce=a,nonce=b,algorithm=md5-sess", DigestError::Twice),
            ("nonce=\"a,algorithm=md5-sess", DigestError::Directive),
            ("nonce=\"a\"x,algorithm=md5-sess", DigestError::Directive),
            (
                "nonce=a,algorithm=md5-sess,qop=\"auth-int,auth-conf\"",
                DigestError::LayerDemanded,
            ),
            ("nonce", DigestError::Directive),
            (&long, DigestError::NoText),
        ] {
            assert_eq!(Challenge::parse(text.as_bytes()), Err(error), "{text}");
        }
        let no_text = Challenge::parse(b"nonce=\xff,algorithm=md5-sess");
        assert_eq!(no_text, Err(DigestError::NoText));
        assert!(Challenge::parse(b"nonce=a,algorithm=md5-sess").is_ok());
    }
}
