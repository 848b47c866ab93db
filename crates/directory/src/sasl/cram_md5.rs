//! CRAM-MD5 (RFC 2195), from the server's side. For old clients: it needs the password in the clear.

use ironbark_sasl::cram_md5::{CramMd5Response, challenge};

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The challenge that was sent.
pub(crate) struct Exchange(String);

/// The client's response.
pub(crate) struct Proof {
    challenge: String,
    response: CramMd5Response,
}

/// The server speaks first. `nonce` has not been used before.
pub(crate) fn begin(message: Option<&[u8]>, nonce: &str, host: &str) -> StepResult<Exchange, Proof> {
    if message.is_some_and(|message| !message.is_empty()) {
        return Err(SaslRefusal::malformed("CRAM-MD5 does not accept initial data").into());
    }
    let challenge = challenge(nonce, host);
    Ok(Step::Challenge(challenge.clone().into_bytes(), Exchange(challenge)))
}

pub(crate) fn step(exchange: Exchange, message: Option<&[u8]>) -> StepResult<Exchange, Proof> {
    let response = message.and_then(CramMd5Response::parse);
    let response = response.ok_or_else(|| SaslRefusal::malformed("a name and a digest expected"))?;
    if response.user.is_empty() || response.user.contains('\0') {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Name(response.user.clone()),
        authorization: None,
        proof: Proof {
            challenge: exchange.0,
            response,
        },
    }))
}

impl Proof {
    /// Whether the response was made with this password.
    pub(crate) fn is_of(&self, password: &[u8]) -> bool {
        self.response.is_of(password, self.challenge.as_bytes())
    }
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
