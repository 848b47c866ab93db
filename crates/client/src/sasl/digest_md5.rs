//! DIGEST-MD5 (RFC 2831), for authentication alone (`qop=auth`). For old servers.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
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

/// The directives of a challenge that count.
#[derive(Default)]
struct Challenge {
    nonce: String,
    realms: Vec<String>,
    offers_auth: bool,
    is_utf8: bool,
}

/// RFC 2831 §2.1.1.
const MAX_CHALLENGE: usize = 2_048;
const COUNT: &str = "00000001";

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

    fn answer(&self, challenge: &Challenge) -> Result<(String, String), SaslFailure> {
        let realm = match challenge.realms.first() {
            _ if !self.realm.is_empty() => &self.realm,
            Some(first) => first,
            None => "",
        };
        let names = [self.user.as_str(), realm, &self.authorization];
        if !challenge.is_utf8 && !names.iter().all(|name| name.is_ascii()) {
            return Err(SaslFailure::new("the server takes no names that are not ASCII"));
        }
        let secret = self.secret(realm, challenge);
        let mut answer = format!(
            "username={},realm={},nonce={},cnonce={},nc={COUNT},qop=auth,digest-uri={},response={}",
            quoted(&self.user),
            quoted(realm),
            quoted(&challenge.nonce),
            quoted(&self.cnonce),
            quoted(&self.uri),
            self.digest(&secret, challenge, "AUTHENTICATE"),
        );
        if challenge.is_utf8 {
            answer.push_str(",charset=utf-8");
        }
        if !self.authorization.is_empty() {
            answer.push_str(",authzid=");
            answer.push_str(&quoted(&self.authorization));
        }
        Ok((answer, format!("rspauth={}", self.digest(&secret, challenge, ""))))
    }

    /// `A1` (RFC 2831 §2.1.2.1), hashed.
    fn secret(&self, realm: &str, challenge: &Challenge) -> String {
        let password = match std::str::from_utf8(&self.password.0) {
            Ok(text) => narrow(text),
            Err(_) => self.password.0.clone(),
        };
        let user = Md5::new()
            .chain_update([&narrow(&self.user), &b":"[..], &narrow(realm), b":"].concat())
            .chain_update(password)
            .finalize();
        let mut a1 = Md5::new()
            .chain_update(user)
            .chain_update(format!(":{}:{}", challenge.nonce, self.cnonce));
        if !self.authorization.is_empty() {
            a1.update(format!(":{}", self.authorization));
        }
        hex(&a1.finalize())
    }

    fn digest(&self, secret: &str, challenge: &Challenge, method: &str) -> String {
        let a2 = hex(&Md5::digest(format!("{method}:{}", self.uri)));
        hex(&Md5::digest(format!(
            "{secret}:{}:{COUNT}:{}:auth:{a2}",
            challenge.nonce, self.cnonce
        )))
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
                let (answer, proof) = self.answer(&Challenge::read(challenge)?)?;
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

impl Challenge {
    fn read(octets: &[u8]) -> Result<Self, SaslFailure> {
        let malformed = || SaslFailure::new("the server's challenge is malformed");
        let text = std::str::from_utf8(octets).ok();
        let text = text.filter(|text| text.len() <= MAX_CHALLENGE).ok_or_else(malformed)?;
        let mut rest = next(text);
        let mut challenge = Self::default();
        let (mut has_qop, mut is_session) = (false, false);
        while !rest.is_empty() {
            let (name, value, after) = directive(rest).ok_or_else(malformed)?;
            rest = after;
            match name.to_ascii_lowercase().as_str() {
                "nonce" if challenge.nonce.is_empty() => challenge.nonce = value,
                "nonce" => return Err(malformed()),
                "realm" => challenge.realms.push(value),
                "qop" => {
                    has_qop = true;
                    challenge.offers_auth |= value.split(',').any(|word| word.trim() == "auth");
                }
                "charset" => challenge.is_utf8 = value.eq_ignore_ascii_case("utf-8"),
                "algorithm" => is_session = value.eq_ignore_ascii_case("md5-sess"),
                _ => {}
            }
        }
        if challenge.nonce.is_empty() || !is_session {
            return Err(malformed());
        }
        if has_qop && !challenge.offers_auth {
            return Err(SaslFailure::new("the server demands a security layer"));
        }
        Ok(challenge)
    }
}

/// The first directive of a comma-separated list that is not empty, and what follows it. `None`: it is malformed.
fn directive(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let Some(inner) = rest.trim_start().strip_prefix('"') else {
        let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
        return Some((name.trim(), value.trim().to_owned(), next(after)));
    };
    let (mut value, mut characters) = (String::new(), inner.chars());
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => value.push(characters.next()?),
            other => value.push(other),
        }
    }
    let after = characters.as_str().trim_start();
    let is_end = after.is_empty() || after.starts_with(',');
    is_end.then(|| (name.trim(), value, next(after)))
}

/// The list from its next directive on.
fn next(text: &str) -> &str {
    text.trim_start_matches([',', ' ', '\t', '\r', '\n'])
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Text that fits into ISO 8859-1 is hashed in that encoding (RFC 2831 §2.1.2.1).
fn narrow(text: &str) -> Vec<u8> {
    let octets = text.chars().map(|character| u8::try_from(character).ok());
    octets
        .collect::<Option<Vec<u8>>>()
        .unwrap_or_else(|| text.as_bytes().to_vec())
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2);
    for octet in octets {
        // Writing to a string cannot fail.
        let _ = write!(text, "{octet:02x}");
    }
    text
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
    fn malformed_challenges_are_refused() {
        let long = format!("nonce=\"{}\",algorithm=md5-sess", "a".repeat(MAX_CHALLENGE));
        for text in [
            "",
            "nonce=\"a\"",
            "algorithm=md5-sess",
            "nonce=a,nonce=b,algorithm=md5-sess",
            "nonce=\"a,algorithm=md5-sess",
            "nonce=\"a\"x,algorithm=md5-sess",
            "nonce=a,algorithm=md5-sess,qop=\"auth-int,auth-conf\"",
            "nonce",
            &long,
        ] {
            assert!(exchange().step(text.as_bytes()).is_err(), "{text}");
        }
        assert!(exchange().step(b"nonce=\xff,algorithm=md5-sess").is_err());
        assert!(exchange().step(b"nonce=a,algorithm=md5-sess").is_ok());
    }

    #[test]
    fn names_are_quoted_and_hashed_in_iso_8859_1() {
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(narrow("j\u{fc}rg"), b"j\xfcrg");
        assert_eq!(narrow("\u{20ac}"), "\u{20ac}".as_bytes());
        let mut exchange = exchange();
        exchange.user = "j\u{fc}rg".to_owned();
        assert!(
            exchange.step(b"nonce=a,algorithm=md5-sess").is_err(),
            "not without a charset"
        );
    }
}
