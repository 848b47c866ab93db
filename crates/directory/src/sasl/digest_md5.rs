//! DIGEST-MD5 (RFC 2831), for authentication alone (`qop=auth`). For old clients: it needs the password in the clear.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The challenge that was sent.
pub(crate) struct Exchange {
    nonce: String,
    realm: String,
}

/// The client's response.
#[derive(Default)]
pub(crate) struct Proof {
    user: String,
    realm: String,
    nonce: String,
    cnonce: String,
    uri: String,
    authorization: Option<String>,
    response: String,
    is_utf8: bool,
}

/// RFC 2831 §2.1.2.
const MAX_RESPONSE: usize = 4_096;
const COUNT: &str = "00000001";

/// The server speaks first. `nonce` has not been used before. A client that has authenticated to us earlier may begin
/// with a response to that challenge (RFC 2831 §2.2). We do not keep old challenges, so it gets a new one.
pub(crate) fn begin(message: Option<&[u8]>, nonce: String, realm: &str) -> Step<Exchange, Box<Proof>> {
    let is_stale = message.is_some_and(|message| !message.is_empty());
    let challenge = format!(
        "nonce=\"{nonce}\",realm=\"{}\",qop=\"auth\",{}charset=utf-8,algorithm=md5-sess",
        realm.replace('\\', "\\\\").replace('"', "\\\""),
        if is_stale { "stale=true," } else { "" },
    );
    let exchange = Exchange {
        nonce,
        realm: realm.to_owned(),
    };
    Step::Challenge(challenge.into_bytes(), exchange)
}

pub(crate) fn step(exchange: &Exchange, message: Option<&[u8]>) -> StepResult<Exchange, Box<Proof>> {
    let text = message.filter(|message| message.len() <= MAX_RESPONSE);
    let text = text.and_then(|message| std::str::from_utf8(message).ok());
    let proof = read(text.ok_or_else(|| SaslRefusal::malformed("no digest-response"))?)?;
    if proof.user.is_empty() || proof.cnonce.is_empty() {
        return Err(SaslRefusal::malformed("a directive is missing").into());
    }
    let is_ours = proof.nonce == exchange.nonce && (proof.realm.is_empty() || proof.realm == exchange.realm);
    let is_for_ldap = proof
        .uri
        .get(..5)
        .is_some_and(|service| service.eq_ignore_ascii_case("ldap/"));
    let has_zero = |name: &str| name.contains('\0');
    if has_zero(&proof.user) || proof.authorization.as_deref().is_some_and(has_zero) {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    if !is_ours || !is_for_ldap {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Name(proof.user.clone()),
        authorization: proof.authorization.clone().filter(|text| !text.is_empty()),
        proof: Box::new(proof),
    }))
}

/// Reads the directives of a digest-response. None may occur twice.
fn read(text: &str) -> Result<Proof, SaslRefusal> {
    let mut proof = Proof::default();
    let mut seen: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some((name, value, after)) = directive(rest)? {
        rest = after;
        let name = name.to_ascii_lowercase();
        if seen.contains(&name) {
            return Err(SaslRefusal::malformed("a directive occurs twice"));
        }
        let is_permitted = match &*name {
            "qop" => value == "auth",
            "nc" => value == COUNT,
            "charset" => value.eq_ignore_ascii_case("utf-8"),
            _ => true,
        };
        if !is_permitted {
            return Err(SaslRefusal::malformed("qop, nc or charset"));
        }
        match &*name {
            "username" => proof.user = value,
            "realm" => proof.realm = value,
            "nonce" => proof.nonce = value,
            "cnonce" => proof.cnonce = value,
            "digest-uri" => proof.uri = value,
            "authzid" => proof.authorization = Some(value),
            "response" => proof.response = value,
            "charset" => proof.is_utf8 = true,
            _ => {}
        }
        seen.push(name);
    }
    if seen.iter().any(|name| name == "nc") {
        Ok(proof)
    } else {
        Err(SaslRefusal::malformed("nc is missing"))
    }
}

/// The first directive of a comma-separated list, and what follows it.
fn directive(text: &str) -> Result<Option<(&str, String, &str)>, SaslRefusal> {
    let malformed = || SaslRefusal::malformed("directive");
    let text = text.trim_start_matches([',', ' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Ok(None);
    }
    let (name, rest) = text.split_once('=').ok_or_else(malformed)?;
    let Some(quoted) = rest.trim_start().strip_prefix('"') else {
        let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
        return Ok(Some((name.trim(), value.trim().to_owned(), after)));
    };
    let (mut value, mut characters) = (String::new(), quoted.chars());
    loop {
        match characters.next().ok_or_else(malformed)? {
            '"' => break,
            '\\' => value.push(characters.next().ok_or_else(malformed)?),
            other => value.push(other),
        }
    }
    let after = characters.as_str().trim_start();
    if !after.is_empty() && !after.starts_with(',') {
        return Err(malformed());
    }
    Ok(Some((name.trim(), value, after)))
}

impl Proof {
    /// If the response was made with this password, the server's own proof.
    pub(crate) fn answer(&self, password: &[u8]) -> Option<Vec<u8>> {
        let secret = self.secret(password);
        let is_made_with_it: bool = self
            .digest(&secret, "AUTHENTICATE")
            .as_bytes()
            .ct_eq(self.response.as_bytes())
            .into();
        is_made_with_it.then(|| format!("rspauth={}", self.digest(&secret, "")).into_bytes())
    }

    /// `A1` (RFC 2831 §2.1.2.1), hashed.
    fn secret(&self, password: &[u8]) -> String {
        let encoded = |text: &str| -> Vec<u8> {
            let narrow = || {
                text.chars()
                    .map(|character| u8::try_from(character).ok())
                    .collect::<Option<Vec<u8>>>()
            };
            // Text that fits into ISO 8859-1 is hashed in that encoding.
            narrow()
                .filter(|_| self.is_utf8)
                .unwrap_or_else(|| text.as_bytes().to_vec())
        };
        let password = match std::str::from_utf8(password) {
            Ok(text) => encoded(text),
            Err(_) => password.to_vec(),
        };
        let user = Md5::new()
            .chain_update([&encoded(&self.user), &b":"[..], &encoded(&self.realm), b":"].concat())
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
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
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
    const EXAMPLE: &str = "charset=utf-8,username=\"chris\",realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",nc=00000001,\
        cnonce=\"OA6MHXh6VqTrRk\",digest-uri=\"imap/elwood.innosoft.com\",response=d388dad90d4bbd760a152321f2143af7,qop=auth";

    #[test]
    fn the_rfcs_example() {
        let proof = read(EXAMPLE).unwrap();
        assert_eq!(
            proof.answer(b"secret").unwrap(),
            b"rspauth=ea40f60335c427b5527b84dbabcdfffd"
        );
        assert_eq!(proof.answer(b"Secret"), None);
    }

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
        let long = format!("username=\"{}\"", "a".repeat(MAX_RESPONSE));
        for text in [
            "",
            ",,,",
            "=",
            "username",
            "username=\"a",
            "username=\"a\\",
            "username=\"a\"x",
            &long,
            "username=a,username=b,nc=00000001",
            "username=a,cnonce=c,nonce=n,digest-uri=ldap/x,nc=00000002",
            "username=a,cnonce=c,nonce=n,digest-uri=ldap/x,qop=auth-conf,nc=00000001",
            "username=a,cnonce=c,nonce=n,digest-uri=ldap/x",
        ] {
            assert!(step(&exchange, Some(text.as_bytes())).is_err(), "{text}");
        }
        assert!(step(&exchange, None).is_err());
        assert!(step(&exchange, Some(b"\xff")).is_err());
    }

    #[test]
    fn names_and_passwords_of_iso_8859_1_are_hashed_in_that() {
        let mut proof = read(&EXAMPLE.replace("chris", "j\u{fc}rg")).unwrap();
        let narrow = proof.secret("p\u{e4}ss".as_bytes());
        assert_eq!(narrow, {
            proof.user = "j\u{fc}rg".to_owned();
            proof.secret(b"p\xe4ss")
        });
        proof.is_utf8 = false;
        assert_ne!(narrow, proof.secret("p\u{e4}ss".as_bytes()));
    }
}
