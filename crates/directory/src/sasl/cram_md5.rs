//! CRAM-MD5 (RFC 2195): the password's HMAC of a challenge. For old clients: it needs the password in the clear.

use hmac::{Hmac, KeyInit, Mac};
use subtle::ConstantTimeEq as _;

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The challenge that was sent.
pub(crate) struct Exchange(String);

/// The client's response.
pub(crate) struct Proof {
    challenge: String,
    response: String,
}

/// The server speaks first. `nonce` has not been used before.
pub(crate) fn begin(message: Option<&[u8]>, nonce: &str, host: &str) -> StepResult<Exchange, Proof> {
    if message.is_some_and(|message| !message.is_empty()) {
        return Err(SaslRefusal::malformed("CRAM-MD5 does not accept initial data").into());
    }
    let challenge = format!("<{nonce}@{host}>");
    Ok(Step::Challenge(challenge.clone().into_bytes(), Exchange(challenge)))
}

pub(crate) fn step(exchange: Exchange, message: Option<&[u8]>) -> StepResult<Exchange, Proof> {
    let text = message.and_then(|message| std::str::from_utf8(message).ok());
    // A name may contain blanks.
    let (user, response) = text
        .and_then(|text| text.rsplit_once(' '))
        .ok_or_else(|| SaslRefusal::malformed("a name and a digest expected"))?;
    if user.is_empty() || user.contains('\0') {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Name(user.to_owned()),
        authorization: None,
        proof: Proof {
            challenge: exchange.0,
            response: response.to_owned(),
        },
    }))
}

impl Proof {
    /// Whether the response was made with this password.
    pub(crate) fn is_of(&self, password: &[u8]) -> bool {
        digest(password, self.challenge.as_bytes())
            .as_bytes()
            .ct_eq(self.response.as_bytes())
            .into()
    }
}

fn digest(password: &[u8], challenge: &[u8]) -> String {
    let Ok(mac) = <Hmac<md5::Md5> as KeyInit>::new_from_slice(password) else {
        return String::new();
    };
    super::digest_md5::hex(&mac.chain_update(challenge).finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2195 §2.
    #[test]
    fn the_rfcs_example() {
        let exchange = Exchange("<1896.697170952@postoffice.reston.mci.net>".to_owned());
        let Ok(Step::Claim(claim)) = step(exchange, Some(b"tim b913a602c7eda7a495b4e6e7334d3890")) else {
            panic!("no claim")
        };
        let (User::Name(user), proof) = (claim.user, claim.proof) else {
            panic!("another claim")
        };
        assert_eq!(user, "tim");
        assert!(proof.is_of(b"tanstaaftanstaaf"));
        assert!(!proof.is_of(b"tanstaaftanstaag"));
    }

    #[test]
    fn other_messages_are_refused() {
        for message in [
            None,
            Some(&b""[..]),
            Some(b"tim"),
            Some(b" 00"),
            Some(b"\xff 00"),
            Some(b"a\0b 00"),
        ] {
            assert!(step(Exchange("<1@a>".to_owned()), message).is_err(), "{message:?}");
        }
        assert!(begin(Some(b"tim"), "1", "a").is_err());
        assert!(matches!(begin(Some(b""), "1", "a"), Ok(Step::Challenge(challenge, _)) if challenge == b"<1@a>"));
    }
}
