//! The client's two messages (RFC 5802 §5.1, §7). A `client-first-message` is its GS2 header and the bare message, one
//! after the other.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    ScramError,
    name::{escaped, unescaped},
};

/// The client's statement about channel binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flag<'m> {
    /// `n`: the client does not support it.
    Unable,
    /// `y`: the client supports it, and believes that the server does not.
    NotOffered,
    /// `p=<type>`.
    Bound(&'m str),
}

/// `client-first-message`.
#[derive(Debug)]
pub struct ClientFirst<'m> {
    /// The statement about channel binding.
    pub flag: Flag<'m>,
    /// The requested authorization identity. It is not empty.
    pub authorization: Option<String>,
    /// With its last comma, because the channel binding data repeat it.
    pub gs2_header: &'m str,
    /// The rest.
    pub bare: &'m str,
    /// It is not empty.
    pub user: String,
    /// Printable ASCII without a comma, 1 to 1,024 octets.
    pub nonce: &'m str,
}

/// `client-final-message`.
#[derive(Debug)]
pub struct ClientFinal<'m> {
    /// GS2 header and channel binding data.
    pub binding: Vec<u8>,
    /// The nonce of both sides.
    pub nonce: &'m str,
    /// Everything except the proof.
    pub without_proof: &'m str,
    /// `ClientProof`, of any length.
    pub proof: Vec<u8>,
}

const MAX_NONCE: usize = 1_024;
/// Octets of a first message. Names and nonce of it are kept until the final one comes, from strangers too.
const MAX_FIRST: usize = 4_096;

/// `gs2-header`, with its last comma.
pub fn gs2_header(flag: Flag<'_>, authorization: Option<&str>) -> String {
    let (flag, kind) = match flag {
        Flag::Unable => ("n", ""),
        Flag::NotOffered => ("y", ""),
        Flag::Bound(kind) => ("p=", kind),
    };
    let authorization = authorization.map_or_else(String::new, |name| format!("a={}", escaped(name)));
    format!("{flag}{kind},{authorization},")
}

/// `client-first-message-bare`. `nonce` has not been used before, is printable and has no comma.
pub fn client_first_bare(user: &str, nonce: &str) -> String {
    format!("n={},r={nonce}", escaped(user))
}

/// `client-final-message-without-proof`.
pub fn client_final_without_proof(binding_input: &[u8], nonce: &str) -> String {
    format!("c={},r={nonce}", STANDARD.encode(binding_input))
}

/// `client-final-message`.
pub fn client_final(without_proof: &str, proof: &[u8]) -> String {
    format!("{without_proof},p={}", STANDARD.encode(proof))
}

impl<'m> ClientFirst<'m> {
    /// # Errors
    /// The message is malformed, has more than 4,096 octets, or has extensions that must be understood.
    pub fn parse(message: &'m [u8]) -> Result<Self, ScramError> {
        let text = std::str::from_utf8(message).map_err(|_| ScramError::NotUtf8)?;
        if text.len() > MAX_FIRST {
            return Err(ScramError::TooLong);
        }
        let (flag, rest) = text.split_once(',').ok_or(ScramError::Gs2Header)?;
        let flag = match flag {
            "n" => Flag::Unable,
            "y" => Flag::NotOffered,
            bound => Flag::Bound(bound.strip_prefix("p=").ok_or(ScramError::Flag)?),
        };
        let (authorization, bare) = rest.split_once(',').ok_or(ScramError::Gs2Header)?;
        let authorization = match authorization.strip_prefix("a=") {
            Some(name) => Some(unescaped(name)?),
            None if authorization.is_empty() => None,
            None => return Err(ScramError::Authorization),
        };
        let gs2_header = text.get(..text.len() - bare.len()).unwrap_or_default();
        let user = bare.strip_prefix("n=").ok_or(ScramError::Name)?;
        let (user, rest) = user.split_once(',').ok_or(ScramError::Name)?;
        let nonce = rest.strip_prefix("r=").ok_or(ScramError::Nonce)?;
        let mut parts = nonce.split(',');
        let nonce = parts.next().unwrap_or_default();
        optional(parts)?;
        let is_printable = nonce.bytes().all(|octet| octet.is_ascii_graphic());
        if nonce.is_empty() || nonce.len() > MAX_NONCE || !is_printable {
            return Err(ScramError::Nonce);
        }
        Ok(Self {
            flag,
            authorization,
            gs2_header,
            bare,
            user: unescaped(user)?,
            nonce,
        })
    }
}

impl<'m> ClientFinal<'m> {
    /// # Errors
    /// The message is malformed, or has extensions that must be understood.
    pub fn parse(message: &'m [u8]) -> Result<Self, ScramError> {
        let text = std::str::from_utf8(message).map_err(|_| ScramError::NotUtf8)?;
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or(ScramError::Proof)?;
        let mut parts = without_proof.split(',');
        let mut part = |prefix: &str| parts.next().and_then(|part| part.strip_prefix(prefix));
        let binding = part("c=").ok_or(ScramError::Binding)?;
        let nonce = part("r=").ok_or(ScramError::Nonce)?;
        optional(parts)?;
        let decoded = |text: &str| STANDARD.decode(text).map_err(|_| ScramError::Base64);
        Ok(Self {
            binding: decoded(binding)?,
            nonce,
            without_proof,
            proof: decoded(proof)?,
        })
    }
}

/// Extensions at the end of a message are skipped. `m`, one that must be understood, fails wherever it is.
fn optional<'m>(mut extensions: impl Iterator<Item = &'m str>) -> Result<(), ScramError> {
    if extensions.any(|extension| extension.starts_with("m=")) {
        return Err(ScramError::Extension);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_messages_are_written_and_read() {
        let header = gs2_header(Flag::Bound("tls-exporter"), Some("u:bob,jr"));
        let text = format!("{header}{},x=y", client_first_bare("a=b", "abc"));
        assert_eq!(text, "p=tls-exporter,a=u:bob=2Cjr,n=a=3Db,r=abc,x=y");
        let first = ClientFirst::parse(text.as_bytes()).unwrap();
        assert_eq!(first.flag, Flag::Bound("tls-exporter"));
        assert_eq!(first.authorization.as_deref(), Some("u:bob,jr"));
        assert_eq!(
            (first.gs2_header, first.bare),
            ("p=tls-exporter,a=u:bob=2Cjr,", "n=a=3Db,r=abc,x=y")
        );
        assert_eq!((&*first.user, first.nonce), ("a=b", "abc"));
        assert_eq!(gs2_header(Flag::Unable, None), "n,,");
        assert_eq!(gs2_header(Flag::NotOffered, None), "y,,");
    }

    #[test]
    fn malformed_messages_are_refused() {
        for text in [
            "",
            "n",
            "n,",
            "n,,",
            "n,,n=a",
            "n,,n=a,",
            "n,,n=a,r=",
            "n,,n=,r=x",
            "n,,n=a=,r=x",
            "n,,n=a=2c,r=x",
            "n,,m=1,n=a,r=x",
            "n,,n=a,m=1,r=x",
            "n,,n=a,r=x,m=1",
            "n,,n=a,r=x,y=1,m=",
            "x,,n=a,r=x",
            "p,,n=a,r=x",
            "n,b=c,n=a,r=x",
            "n,a=,n=a,r=x",
            "n,,r=x,n=a",
            "n,,n=a,r=\u{e9}",
            "n,,n=a\0,r=x",
        ] {
            assert!(ClientFirst::parse(text.as_bytes()).is_err(), "{text}");
        }
        let with_nonce = |length: usize| format!("n,,n=a,r={}", "x".repeat(length));
        assert!(ClientFirst::parse(with_nonce(MAX_NONCE + 1).as_bytes()).is_err());
        let long = |length: usize| format!("n,,n={},r=x", "a".repeat(length - 9));
        assert!(ClientFirst::parse(long(MAX_FIRST).as_bytes()).is_ok());
        assert!(ClientFirst::parse(long(MAX_FIRST + 1).as_bytes()).is_err());
        for text in [
            "",
            "c=biws",
            "c=biws,r=x",
            "c=biws,p=AA==",
            "c=?,r=x,p=AA==",
            "c=biws,r=x,p=?",
            "r=x,c=biws,p=AA==",
            "c=biws,r=x,m=1,p=AA==",
            "c=biws,r=x,y=1,m=,p=AA==",
        ] {
            assert!(ClientFinal::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(ClientFirst::parse(b"n,,n=\xff,r=x").unwrap_err(), ScramError::NotUtf8);
        assert_eq!(ClientFinal::parse(b"c=\xff").unwrap_err(), ScramError::NotUtf8);
    }
}
