//! SCRAM (RFC 5802, RFC 7677), with and without channel binding (RFC 5929, RFC 9266).

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Digest;
use subtle::ConstantTimeEq as _;

use super::{Exchange, SaslFailure, no_data};
use crate::{BindSettings, Secret};

/// The hash function of a mechanism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hash {
    /// RFC 5802.
    Sha1,
    /// RFC 7677.
    Sha256,
    /// As in the drafts and Cyrus SASL.
    Sha512,
}

/// What the client says about channel binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// `n`: nothing is bound.
    None,
    /// `y`: the client could, and the server does not offer it.
    NotOffered,
    /// `p`: the name and the data of a binding.
    Bound { name: &'static str, data: Vec<u8> },
}

/// A negotiation.
pub(super) struct Scram {
    hash: Hash,
    password: Secret,
    /// The GS2 header.
    header: String,
    binding: Vec<u8>,
    /// The first message without the GS2 header.
    bare: String,
    nonce: String,
    state: State,
}

enum State {
    /// The server's first message is awaited.
    Begun,
    /// The server must send this signature.
    Answered(Vec<u8>),
    Proven,
}

/// RFC 5802 §5.1 and RFC 7677 §4 recommend at least this many. A server that asks for fewer makes the password easier
/// to guess for those who see the proof.
const MIN_ROUNDS: u32 = 4_096;
/// These take seconds. More would be an attack on us.
const MAX_ROUNDS: u32 = 10_000_000;
/// The longest message of a server.
const MAX_MESSAGE: usize = 4_096;

impl Scram {
    /// `nonce` has not been used before, is printable and has no comma.
    pub(super) fn new(hash: Hash, settings: &BindSettings, binding: Binding, nonce: String) -> Self {
        let flag = match &binding {
            Binding::None => "n".to_owned(),
            Binding::NotOffered => "y".to_owned(),
            Binding::Bound { name, .. } => format!("p={name}"),
        };
        let authorization = match settings.authorization_id.as_str() {
            "" => String::new(),
            name => format!("a={}", escaped(name)),
        };
        let user = prepared(settings.authentication_id.as_bytes());
        let user = String::from_utf8_lossy(&user);
        Self {
            hash,
            password: settings.credentials.clone(),
            header: format!("{flag},{authorization},"),
            binding: match binding {
                Binding::Bound { data, .. } => data,
                Binding::None | Binding::NotOffered => Vec::new(),
            },
            bare: format!("n={},r={nonce}", escaped(&user)),
            nonce,
            state: State::Begun,
        }
    }

    /// The final message, and the signature that the server must have.
    fn answer(&self, message: &[u8]) -> Result<(String, Vec<u8>), SaslFailure> {
        let malformed = || SaslFailure::new("the server's first message is malformed");
        let text = std::str::from_utf8(message).ok();
        let text = text.filter(|text| text.len() <= MAX_MESSAGE).ok_or_else(malformed)?;
        // `m=`, an extension that must be understood, would come first.
        let mut parts = text.split(',');
        let mut part = |prefix: &str| {
            parts
                .next()
                .and_then(|part| part.strip_prefix(prefix))
                .ok_or_else(malformed)
        };
        let (nonce, salt, rounds) = (part("r=")?, part("s=")?, part("i=")?);
        let salt = STANDARD
            .decode(salt)
            .ok()
            .filter(|salt| !salt.is_empty())
            .ok_or_else(malformed)?;
        let rounds: u32 = rounds.parse().map_err(|_| malformed())?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(SaslFailure::new("the server's nonce does not begin with the client's"));
        }
        if !(MIN_ROUNDS..=MAX_ROUNDS).contains(&rounds) {
            let reason = format!("the server asks for {rounds} rounds; {MIN_ROUNDS} to {MAX_ROUNDS} are allowed");
            return Err(SaslFailure(reason));
        }
        let binding = STANDARD.encode([self.header.as_bytes(), &self.binding].concat());
        let without_proof = format!("c={binding},r={nonce}");
        let signed = format!("{},{text},{without_proof}", self.bare);
        let keys = self.hash.keys(&prepared(&self.password.0), &salt, rounds);
        let signature = self.hash.mac(&self.hash.digest(&keys.client), signed.as_bytes());
        let proof: Vec<u8> = keys
            .client
            .iter()
            .zip(&signature)
            .map(|(one, other)| one ^ other)
            .collect();
        let answer = format!("{without_proof},p={}", STANDARD.encode(proof));
        Ok((answer, self.hash.mac(&keys.server, signed.as_bytes())))
    }

    /// Reads the server's final message.
    fn check(&mut self, message: &[u8]) -> Result<(), SaslFailure> {
        let State::Answered(expected) = &self.state else {
            return Err(SaslFailure::unexpected());
        };
        let text = std::str::from_utf8(message).unwrap_or_default();
        if let Some(error) = text.strip_prefix("e=") {
            let error: String = error.chars().take(80).collect();
            return Err(SaslFailure(format!(
                "the server reports \"{}\"",
                error.escape_default()
            )));
        }
        let signature = text.strip_prefix("v=").and_then(|text| text.split(',').next());
        let signature = signature
            .and_then(|text| STANDARD.decode(text).ok())
            .unwrap_or_default();
        if !bool::from(expected.ct_eq(&signature)) {
            return Err(SaslFailure::impostor());
        }
        self.state = State::Proven;
        Ok(())
    }
}

impl Exchange for Scram {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        Ok(Some(format!("{}{}", self.header, self.bare).into_bytes()))
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        match self.state {
            State::Begun => {
                let (answer, signature) = self.answer(challenge)?;
                self.state = State::Answered(signature);
                Ok(answer.into_bytes())
            }
            State::Answered(_) => self.check(challenge).map(|()| Vec::new()),
            State::Proven => Err(SaslFailure::unexpected()),
        }
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        match (&self.state, last) {
            (State::Proven, last) => no_data(last),
            (State::Answered(_), Some(message)) => self.check(message),
            _ => Err(SaslFailure::unproven()),
        }
    }
}

/// Keys of a password (RFC 5802 §3).
struct Keys {
    client: Vec<u8>,
    server: Vec<u8>,
}

impl Hash {
    fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        fn run<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
            // HMAC takes keys of every length.
            M::new_from_slice(key).map_or_else(
                |_| Vec::new(),
                |mac| mac.chain_update(text).finalize().into_bytes().to_vec(),
            )
        }
        match self {
            Self::Sha1 => run::<Hmac<sha1::Sha1>>(key, text),
            Self::Sha256 => run::<Hmac<sha2::Sha256>>(key, text),
            Self::Sha512 => run::<Hmac<sha2::Sha512>>(key, text),
        }
    }

    fn digest(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sha1::Sha1::digest(text).to_vec(),
            Self::Sha256 => sha2::Sha256::digest(text).to_vec(),
            Self::Sha512 => sha2::Sha512::digest(text).to_vec(),
        }
    }

    fn keys(self, password: &[u8], salt: &[u8], rounds: u32) -> Keys {
        let salted = match self {
            Self::Sha1 => pbkdf2::pbkdf2_hmac_array::<sha1::Sha1, 20>(password, salt, rounds).to_vec(),
            Self::Sha256 => pbkdf2::pbkdf2_hmac_array::<sha2::Sha256, 32>(password, salt, rounds).to_vec(),
            Self::Sha512 => pbkdf2::pbkdf2_hmac_array::<sha2::Sha512, 64>(password, salt, rounds).to_vec(),
        };
        Keys {
            client: self.mac(&salted, b"Client Key"),
            server: self.mac(&salted, b"Server Key"),
        }
    }
}

/// `saslname`: `=2C` and `=3D` for comma and equals sign.
fn escaped(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

/// A name or password after SASLprep (RFC 4013); unchanged if it cannot be prepared.
fn prepared(octets: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(octets).ok();
    match text.and_then(|text| stringprep::saslprep(text).ok()) {
        Some(Cow::Owned(prepared)) => Cow::Owned(prepared.into_bytes()),
        _ => Cow::Borrowed(octets),
    }
}

#[cfg(test)]
mod tests;
