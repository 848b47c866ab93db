//! DIGEST-MD5 (RFC 2831) from the server's side, for authentication alone (`qop=auth`). For old clients: it needs the
//! password in the clear.

use ironbark_sasl::digest_md5::{Challenge, DigestError, DigestResponse};

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The challenge that was sent.
pub(crate) struct Exchange {
    nonce: String,
    realm: String,
}

/// The client's response.
pub(crate) struct Proof(DigestResponse);

/// The server speaks first. `nonce` has not been used before. A client that has authenticated to us earlier may begin
/// with a response to that challenge (RFC 2831 §2.2). We do not keep old challenges, so it gets a new one.
pub(crate) fn begin(message: Option<&[u8]>, nonce: String, realm: &str) -> Step<Exchange, Box<Proof>> {
    let challenge = Challenge {
        nonce: nonce.clone(),
        realms: vec![realm.to_owned()],
        is_stale: message.is_some_and(|message| !message.is_empty()),
        is_utf8: true,
    };
    let exchange = Exchange {
        nonce,
        realm: realm.to_owned(),
    };
    Step::Challenge(challenge.text().into_bytes(), exchange)
}

pub(crate) fn step(exchange: &Exchange, message: Option<&[u8]>) -> StepResult<Exchange, Box<Proof>> {
    let response = message.ok_or(DigestError::NoText).and_then(DigestResponse::parse);
    let response = response.map_err(SaslRefusal::from)?;
    let is_ours = response.nonce == exchange.nonce && (response.realm.is_empty() || response.realm == exchange.realm);
    let is_for_ldap = response
        .uri
        .get(..5)
        .is_some_and(|service| service.eq_ignore_ascii_case("ldap/"));
    let has_zero = |name: &str| name.contains('\0');
    if has_zero(&response.user) || response.authorization.as_deref().is_some_and(has_zero) {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    if !is_ours || !is_for_ldap {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Name(response.user.clone()),
        authorization: response.authorization.clone().filter(|text| !text.is_empty()),
        proof: Box::new(Proof(response)),
    }))
}

impl Proof {
    /// If the response was made with this password, the server's own proof.
    pub(crate) fn answer(&self, password: &[u8]) -> Option<Vec<u8>> {
        self.0.answer(password).map(String::into_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2831 §4, whose service is IMAP.
    const EXAMPLE: &str = "charset=utf-8,username=\"chris\",realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",nc=00000001,\
        cnonce=\"OA6MHXh6VqTrRk\",digest-uri=\"imap/elwood.innosoft.com\",response=d388dad90d4bbd760a152321f2143af7,qop=auth";

    #[test]
    fn a_response_must_be_to_this_challenge_and_for_ldap() {
        let exchange = |nonce: &str, realm: &str| Exchange {
            nonce: nonce.to_owned(),
            realm: realm.to_owned(),
        };
        let ours = exchange("OA6MG9tEQGm2hh", "elwood.innosoft.com");
        let ldap = EXAMPLE.replace("imap/", "ldap/");
        assert!(step(&ours, Some(ldap.as_bytes())).is_ok());
        assert!(step(&ours, Some(EXAMPLE.as_bytes())).is_err(), "another service");
        assert!(step(&exchange("other", "elwood.innosoft.com"), Some(ldap.as_bytes())).is_err());
        assert!(step(&exchange("OA6MG9tEQGm2hh", "other"), Some(ldap.as_bytes())).is_err());
        for (old, new) in [("chris", "ch\0ris"), ("qop=auth", "qop=auth,authzid=\"u:\0\"")] {
            let zero = ldap.replace(old, new);
            assert!(step(&ours, Some(zero.as_bytes())).is_err(), "{new}");
        }
    }

    #[test]
    fn malformed_responses_are_refused() {
        let exchange = Exchange {
            nonce: "n".to_owned(),
            realm: "r".to_owned(),
        };
        for message in [None, Some(&b""[..]), Some(b"username=a"), Some(b"\xff")] {
            assert!(step(&exchange, message).is_err(), "{message:?}");
        }
    }

    #[test]
    fn a_client_that_begins_with_an_old_response_gets_a_new_challenge() {
        let challenge = |message| match begin(message, "abc".to_owned(), "a\"b") {
            Step::Challenge(challenge, _) => String::from_utf8(challenge).unwrap(),
            Step::Claim(_) => panic!("a claim"),
        };
        let expected = "nonce=\"abc\",realm=\"a\\\"b\",qop=\"auth\",charset=utf-8,algorithm=md5-sess";
        assert_eq!(challenge(None), expected);
        assert_eq!(challenge(Some(b"")), expected);
        assert!(challenge(Some(EXAMPLE.as_bytes())).contains(",stale=true,"));
    }
}
