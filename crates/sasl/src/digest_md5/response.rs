//! The client's response (RFC 2831 §2.1.2), and the proofs of both sides in it and behind it.

use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

use super::{
    DigestError,
    directive::{each, quoted, text_of},
};
use crate::hex;

/// `digest-response`, for `qop=auth` and the first use of a nonce.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DigestResponse {
    /// The name of the user. It is not empty.
    pub user: String,
    /// One of the challenge's, or empty.
    pub realm: String,
    /// That of the challenge.
    pub nonce: String,
    /// The client's own nonce. It is not empty.
    pub cnonce: String,
    /// `digest-uri`: service and host, as `ldap/ldap.example.com`.
    pub uri: String,
    /// `authzid`: the requested authorization identity.
    pub authorization: Option<String>,
    /// Whether names and password are UTF-8. Then text that fits into ISO 8859-1 is hashed in that encoding
    /// (RFC 2831 §2.1.2.1).
    pub is_utf8: bool,
    /// `response`: the client's proof, 32 hexadecimal digits.
    pub proof: String,
}

/// Octets of a response (RFC 2831 §2.1.2).
pub(crate) const MAX_RESPONSE: usize = 4_096;
const COUNT: &str = "00000001";
/// `A2` begins with it in the client's proof, and with nothing in the server's.
const METHOD: &str = "AUTHENTICATE";

impl DigestResponse {
    /// Reads a message. No directive may occur twice; unknown ones are skipped.
    ///
    /// # Errors
    /// The message has more than 4,096 octets or is malformed, asks for a security layer, or uses a nonce again.
    pub fn parse(message: &[u8]) -> Result<Self, DigestError> {
        let mut response = Self::default();
        let mut seen: Vec<String> = Vec::new();
        each(text_of(message, MAX_RESPONSE)?, |name, value| {
            if seen.iter().any(|seen| seen == name) {
                return Err(DigestError::Twice);
            }
            let is_permitted = match name {
                "qop" => value == "auth",
                "nc" => value == COUNT,
                "charset" => value.eq_ignore_ascii_case("utf-8"),
                _ => true,
            };
            if !is_permitted {
                return Err(DigestError::Value);
            }
            match name {
                "username" => response.user = value,
                "realm" => response.realm = value,
                "nonce" => response.nonce = value,
                "cnonce" => response.cnonce = value,
                "digest-uri" => response.uri = value,
                "authzid" => response.authorization = Some(value),
                "response" => response.proof = value,
                "charset" => response.is_utf8 = true,
                _ => {}
            }
            seen.push(name.to_owned());
            Ok(())
        })?;
        if !seen.iter().any(|name| name == "nc") {
            return Err(DigestError::NoCount);
        }
        if response.user.is_empty() || response.cnonce.is_empty() {
            return Err(DigestError::Missing);
        }
        Ok(response)
    }

    /// The message.
    pub fn text(&self) -> String {
        let mut text = format!(
            "username={},realm={},nonce={},cnonce={},nc={COUNT},qop=auth,digest-uri={},response={}",
            quoted(&self.user),
            quoted(&self.realm),
            quoted(&self.nonce),
            quoted(&self.cnonce),
            quoted(&self.uri),
            self.proof,
        );
        if self.is_utf8 {
            text.push_str(",charset=utf-8");
        }
        if let Some(authorization) = &self.authorization {
            text.push_str(",authzid=");
            text.push_str(&quoted(authorization));
        }
        text
    }

    /// Puts the proof of this password into the response. Returns what the server must send then, `response-auth`.
    pub fn sign(&mut self, password: &[u8]) -> String {
        // Without a charset, all is ISO 8859-1.
        let secret = self.secret(&narrow(password));
        self.proof = self.digest(&secret, METHOD);
        self.server_proof(&secret)
    }

    /// If the response was made with this password, the server's own proof, `response-auth`. A password that is not
    /// announced as UTF-8 is taken as it is stored.
    pub fn answer(&self, password: &[u8]) -> Option<String> {
        let secret = self.secret(&self.hashed(password));
        let own = self.digest(&secret, METHOD);
        let is_made_with_it: bool = own.as_bytes().ct_eq(self.proof.as_bytes()).into();
        is_made_with_it.then(|| self.server_proof(&secret))
    }

    fn server_proof(&self, secret: &str) -> String {
        format!("rspauth={}", self.digest(secret, ""))
    }

    /// `A1` (RFC 2831 §2.1.2.1), hashed. The password is in its encoding.
    fn secret(&self, password: &[u8]) -> String {
        let (user, realm) = (self.hashed(self.user.as_bytes()), self.hashed(self.realm.as_bytes()));
        let user = Md5::new()
            .chain_update([&user, &b":"[..], &realm, b":"].concat())
            .chain_update(password)
            .finalize();
        let mut a1 = Md5::new()
            .chain_update(user)
            .chain_update(format!(":{}:{}", self.nonce, self.cnonce));
        if let Some(authorization) = &self.authorization {
            a1.update(format!(":{authorization}"));
        }
        hex(&a1.finalize())
    }

    fn digest(&self, secret: &str, method: &str) -> String {
        let a2 = hex(&Md5::digest(format!("{method}:{}", self.uri)));
        hex(&Md5::digest(format!(
            "{secret}:{}:{COUNT}:{}:auth:{a2}",
            self.nonce, self.cnonce
        )))
    }

    /// A name or password as it is hashed.
    fn hashed(&self, octets: &[u8]) -> Vec<u8> {
        if self.is_utf8 { narrow(octets) } else { octets.to_vec() }
    }
}

/// UTF-8 that fits into ISO 8859-1, in that encoding; anything else unchanged.
fn narrow(octets: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(octets).ok();
    let narrow = text.and_then(|text| text.chars().map(|character| u8::try_from(character).ok()).collect());
    narrow.unwrap_or_else(|| octets.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response() -> DigestResponse {
        DigestResponse {
            user: "chris".to_owned(),
            nonce: "n".to_owned(),
            cnonce: "c".to_owned(),
            uri: "ldap/x".to_owned(),
            is_utf8: true,
            ..DigestResponse::default()
        }
    }

    #[test]
    fn a_response_is_written_and_read() {
        let mut response = DigestResponse {
            authorization: Some("u:\"bob\"".to_owned()),
            ..response()
        };
        let _ = response.sign(b"secret");
        assert_eq!(DigestResponse::parse(response.text().as_bytes()).unwrap(), response);
    }

    #[test]
    fn malformed_responses_are_refused() {
        let long = format!("username=\"{}\"", "a".repeat(MAX_RESPONSE));
        for (text, error) in [
            ("", DigestError::NoCount),
            (",,,", DigestError::NoCount),
            ("=", DigestError::NoCount),
            ("username", DigestError::Directive),
            ("username=\"a", DigestError::Directive),
            ("username=\"a\\", DigestError::Directive),
            ("username=\"a\"x", DigestError::Directive),
            (&long, DigestError::NoText),
            ("username=a,username=b,nc=00000001", DigestError::Twice),
            (
                "username=a,cnonce=c,nonce=n,digest-uri=ldap/x,nc=00000002",
                DigestError::Value,
            ),
            (
                "username=a,cnonce=c,nonce=n,digest-uri=ldap/x,qop=auth-conf,nc=00000001",
                DigestError::Value,
            ),
            ("username=a,cnonce=c,nonce=n,digest-uri=ldap/x", DigestError::NoCount),
            ("username=a,nonce=n,digest-uri=ldap/x,nc=00000001", DigestError::Missing),
        ] {
            assert_eq!(DigestResponse::parse(text.as_bytes()), Err(error), "{text}");
        }
        assert_eq!(DigestResponse::parse(b"\xff"), Err(DigestError::NoText));
    }

    #[test]
    fn names_and_passwords_of_iso_8859_1_are_hashed_in_that() {
        assert_eq!(narrow("j\u{fc}rg".as_bytes()), b"j\xfcrg");
        assert_eq!(narrow("\u{20ac}".as_bytes()), "\u{20ac}".as_bytes());
        assert_eq!(narrow(b"\xff"), b"\xff");
        let mut response = DigestResponse {
            user: "j\u{fc}rg".to_owned(),
            ..response()
        };
        let wide = "p\u{e4}ss".as_bytes();
        let proof = response.sign(wide);
        assert_eq!(response.sign(b"p\xe4ss"), proof);
        assert_eq!(response.answer(wide), Some(proof));
        response.is_utf8 = false;
        assert_eq!(response.answer(wide), None, "taken as it is stored");
    }

    /// The client's names are ASCII then.
    #[test]
    fn without_a_charset_a_client_sends_iso_8859_1() {
        let mut response = DigestResponse {
            is_utf8: false,
            ..response()
        };
        let proof = response.sign("p\u{e4}ss".as_bytes());
        assert_eq!(response.sign(b"p\xe4ss"), proof);
        assert_eq!(response.answer(b"p\xe4ss"), Some(proof));
    }
}
