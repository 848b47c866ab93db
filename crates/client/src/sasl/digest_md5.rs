//! DIGEST-MD5 (RFC 2831) from the client's side, for authentication alone (`qop=auth`). For old servers.

use ironbark_sasl::digest_md5::{Challenge, DigestError, DigestResponse};
use subtle::ConstantTimeEq as _;

use super::{Exchange, SaslFailure, no_data};
use crate::{BindSettings, Secret};

/// A negotiation.
pub(super) struct DigestMd5 {
    user: String,
    password: Secret,
    authorization: String,
    /// The realm of the settings; empty: the first one that the server names.
    realm: String,
    uri: String,
    cnonce: String,
    state: State,
}

enum State {
    /// The server's challenge is awaited.
    Begun,
    /// The server must send this.
    Answered(String),
    Proven,
}

impl DigestMd5 {
    /// `host` is the server's; `cnonce` has not been used before.
    pub(super) fn new(settings: &BindSettings, host: &str, cnonce: String) -> Self {
        Self {
            user: settings.authentication_id.clone(),
            password: settings.credentials.clone(),
            authorization: settings.authorization_id.clone(),
            realm: settings.realm.clone(),
            uri: format!("ldap/{host}"),
            cnonce,
            state: State::Begun,
        }
    }

    /// The response, and what the server must send then.
    fn answer(&self, challenge: Challenge) -> Result<(String, String), SaslFailure> {
        let realm = match challenge.realms.first() {
            _ if !self.realm.is_empty() => &self.realm,
            Some(first) => first,
            None => "",
        };
        let names = [self.user.as_str(), realm, &self.authorization];
        if !challenge.is_utf8 && !names.iter().all(|name| name.is_ascii()) {
            return Err(SaslFailure::new("the server takes no names that are not ASCII"));
        }
        let mut response = DigestResponse {
            user: self.user.clone(),
            realm: realm.to_owned(),
            nonce: challenge.nonce,
            cnonce: self.cnonce.clone(),
            uri: self.uri.clone(),
            authorization: Some(self.authorization.clone()).filter(|name| !name.is_empty()),
            is_utf8: challenge.is_utf8,
            proof: String::new(),
        };
        let expected = response.sign(&self.password.0);
        Ok((response.text(), expected))
    }

    fn check(&mut self, proof: &[u8]) -> Result<(), SaslFailure> {
        let State::Answered(expected) = &self.state else {
            return Err(SaslFailure::unexpected());
        };
        if !bool::from(expected.as_bytes().ct_eq(proof)) {
            return Err(SaslFailure::impostor());
        }
        self.state = State::Proven;
        Ok(())
    }
}

impl Exchange for DigestMd5 {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        Ok(None)
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        match self.state {
            State::Begun => {
                let (answer, proof) = self.answer(Challenge::parse(challenge).map_err(malformed)?)?;
                self.state = State::Answered(proof);
                Ok(answer.into_bytes())
            }
            State::Answered(_) => self.check(challenge).map(|()| Vec::new()),
            State::Proven => Err(SaslFailure::unexpected()),
        }
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        match (&self.state, last) {
            (State::Proven, last) => no_data(last),
            (State::Answered(_), Some(proof)) => self.check(proof),
            _ => Err(SaslFailure::unproven()),
        }
    }
}

fn malformed(error: DigestError) -> SaslFailure {
    SaslFailure::new(match error {
        DigestError::LayerDemanded => "the server demands a security layer",
        _ => "the server's challenge is malformed",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2831 §4, whose service is IMAP.
    const CHALLENGE: &[u8] =
        b"realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",algorithm=md5-sess,charset=utf-8";

    fn exchange() -> DigestMd5 {
        let settings = BindSettings {
            authentication_id: "chris".to_owned(),
            credentials: Secret(b"secret".to_vec()),
            ..BindSettings::default()
        };
        let mut exchange = DigestMd5::new(&settings, "elwood.innosoft.com", "OA6MHXh6VqTrRk".to_owned());
        exchange.uri = "imap/elwood.innosoft.com".to_owned();
        exchange
    }

    #[test]
    fn the_rfcs_example_with_the_proof_in_a_challenge_or_in_the_result() {
        let mut first = exchange();
        let answer = String::from_utf8(first.step(CHALLENGE).unwrap()).unwrap();
        assert!(answer.contains("response=d388dad90d4bbd760a152321f2143af7"), "{answer}");
        assert!(
            answer.contains("username=\"chris\",realm=\"elwood.innosoft.com\""),
            "{answer}"
        );
        let proof = b"rspauth=ea40f60335c427b5527b84dbabcdfffd";
        assert_eq!(first.end(None), Err(SaslFailure::unproven()));
        assert_eq!(first.step(proof), Ok(Vec::new()));
        assert_eq!(first.end(None), Ok(()));
        let mut second = exchange();
        second.step(CHALLENGE).unwrap();
        assert_eq!(second.end(Some(proof)), Ok(()));
    }

    #[test]
    fn a_server_without_the_password_is_refused() {
        assert_eq!(exchange().end(None), Err(SaslFailure::unproven()));
        let mut first = exchange();
        first.step(CHALLENGE).unwrap();
        let wrong = b"rspauth=ea40f60335c427b5527b84dbabcdfffe";
        assert_eq!(first.step(wrong), Err(SaslFailure::impostor()));
        assert_eq!(first.end(Some(b"")), Err(SaslFailure::impostor()));
    }

    #[test]
    fn a_challenge_that_is_malformed_or_demands_a_layer_is_refused() {
        let refused = |challenge: &[u8]| exchange().step(challenge).unwrap_err().to_string();
        assert_eq!(refused(b"nonce=a"), "the server's challenge is malformed");
        let layer = refused(b"nonce=a,algorithm=md5-sess,qop=\"auth-int,auth-conf\"");
        assert_eq!(layer, "the server demands a security layer");
        assert!(exchange().step(b"nonce=a,algorithm=md5-sess").is_ok());
    }

    #[test]
    fn names_outside_ascii_need_a_charset() {
        let mut exchange = exchange();
        exchange.user = "j\u{fc}rg".to_owned();
        assert!(exchange.step(b"nonce=a,algorithm=md5-sess").is_err());
        assert!(exchange.step(b"nonce=a,algorithm=md5-sess,charset=utf-8").is_ok());
    }
}
