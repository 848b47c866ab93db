//! The client's messages (RFC 5802 §5.1, §7).

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::refusal::SaslRefusal;

/// The client's statement about channel binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flag<'m> {
    /// `n`: the client does not support it.
    Unable,
    /// `y`: the client supports it, and believes that the server does not.
    Unbound,
    /// `p=<type>`.
    Bound(&'m str),
}

/// `client-first-message`.
#[derive(Debug)]
pub(crate) struct First<'m> {
    pub(crate) flag: Flag<'m>,
    pub(crate) authorization: Option<String>,
    /// With its last comma, because the channel binding data repeat it.
    pub(crate) gs2_header: &'m str,
    /// The rest.
    pub(crate) bare: &'m str,
    pub(crate) user: String,
    pub(crate) nonce: &'m str,
}

/// `client-final-message`.
#[derive(Debug)]
pub(crate) struct Final<'m> {
    /// GS2 header and channel binding data.
    pub(crate) binding: Vec<u8>,
    pub(crate) nonce: &'m str,
    /// Everything except the proof.
    pub(crate) without_proof: &'m str,
    pub(crate) proof: Vec<u8>,
}

const MAX_NONCE: usize = 1_024;
/// Octets of a first message. Names and nonce of it are kept until the final one comes, from strangers too.
const MAX_FIRST: usize = 4_096;

impl<'m> First<'m> {
    /// # Errors
    /// It is malformed, or has extensions that must be understood.
    pub(crate) fn parse(text: &'m str) -> Result<Self, SaslRefusal> {
        if text.len() > MAX_FIRST {
            return Err(SaslRefusal::malformed("message too long"));
        }
        let (flag, rest) = text
            .split_once(',')
            .ok_or_else(|| SaslRefusal::malformed("GS2 header"))?;
        let flag = match flag {
            "n" => Flag::Unable,
            "y" => Flag::Unbound,
            bound => Flag::Bound(
                bound
                    .strip_prefix("p=")
                    .ok_or_else(|| SaslRefusal::malformed("channel binding flag"))?,
            ),
        };
        let (authorization, bare) = rest
            .split_once(',')
            .ok_or_else(|| SaslRefusal::malformed("GS2 header"))?;
        let authorization = match authorization.strip_prefix("a=") {
            Some(name) => Some(sasl_name(name)?),
            None if authorization.is_empty() => None,
            None => return Err(SaslRefusal::malformed("authorization identity")),
        };
        let gs2_header = text.get(..text.len() - bare.len()).unwrap_or_default();
        let user = bare.strip_prefix("n=").ok_or_else(|| SaslRefusal::malformed("name"))?;
        let (user, rest) = user.split_once(',').ok_or_else(|| SaslRefusal::malformed("name"))?;
        let nonce = rest.strip_prefix("r=").ok_or_else(|| SaslRefusal::malformed("nonce"))?;
        let mut parts = nonce.split(',');
        let nonce = parts.next().unwrap_or_default();
        optional(parts)?;
        let is_printable = nonce.bytes().all(|octet| octet.is_ascii_graphic());
        if nonce.is_empty() || nonce.len() > MAX_NONCE || !is_printable {
            return Err(SaslRefusal::malformed("nonce"));
        }
        Ok(Self {
            flag,
            authorization,
            gs2_header,
            bare,
            user: sasl_name(user)?,
            nonce,
        })
    }
}

impl<'m> Final<'m> {
    /// # Errors
    /// It is malformed, or has extensions that must be understood.
    pub(crate) fn parse(text: &'m str) -> Result<Self, SaslRefusal> {
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or_else(|| SaslRefusal::malformed("proof"))?;
        let mut parts = without_proof.split(',');
        let mut part = |prefix: &str| parts.next().and_then(|part| part.strip_prefix(prefix));
        let binding = part("c=").ok_or_else(|| SaslRefusal::malformed("channel binding"))?;
        let nonce = part("r=").ok_or_else(|| SaslRefusal::malformed("nonce"))?;
        optional(parts)?;
        let decoded = |text: &str| STANDARD.decode(text).map_err(|_| SaslRefusal::malformed("base64"));
        Ok(Self {
            binding: decoded(binding)?,
            nonce,
            without_proof,
            proof: decoded(proof)?,
        })
    }
}

/// Extensions at the end of a message are skipped. `m`, one that must be understood, fails wherever it is.
fn optional<'m>(mut extensions: impl Iterator<Item = &'m str>) -> Result<(), SaslRefusal> {
    if extensions.any(|extension| extension.starts_with("m=")) {
        return Err(SaslRefusal::malformed("mandatory extension"));
    }
    Ok(())
}

/// `saslname`: `=2C` and `=3D` for comma and equals sign.
fn sasl_name(text: &str) -> Result<String, SaslRefusal> {
    let mut name = String::with_capacity(text.len());
    let mut parts = text.split('=');
    name.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (character, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (None, Some(rest)) => ('=', rest),
            (None, None) => return Err(SaslRefusal::malformed("name")),
        };
        name.push(character);
        name.push_str(rest);
    }
    if name.is_empty() || name.contains('\0') {
        Err(SaslRefusal::malformed("name"))
    } else {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_messages_are_read() {
        let first = First::parse("p=tls-exporter,a=u:bob=2Cjr,n=a=3Db,r=abc,x=y").unwrap();
        assert_eq!(first.flag, Flag::Bound("tls-exporter"));
        assert_eq!(first.authorization.as_deref(), Some("u:bob,jr"));
        assert_eq!(
            (first.gs2_header, first.bare),
            ("p=tls-exporter,a=u:bob=2Cjr,", "n=a=3Db,r=abc,x=y")
        );
        assert_eq!((&*first.user, first.nonce), ("a=b", "abc"));
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
            assert!(First::parse(text).is_err(), "{text}");
        }
        assert!(First::parse(&format!("n,,n=a,r={}", "x".repeat(MAX_NONCE + 1))).is_err());
        let long = |length: usize| format!("n,,n={},r=x", "a".repeat(length - 9));
        assert!(First::parse(&long(MAX_FIRST)).is_ok());
        assert!(First::parse(&long(MAX_FIRST + 1)).is_err());
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
            assert!(Final::parse(text).is_err(), "{text}");
        }
    }
}
