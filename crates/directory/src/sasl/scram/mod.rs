//! SCRAM (RFC 5802, RFC 7677), with and without channel binding (RFC 5929, RFC 9266).

mod message;

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use subtle::ConstantTimeEq as _;

use self::message::{Final, First, Flag};
use super::{
    mechanism::Binding,
    step::{Claim, Step, StepResult, User},
};
use crate::{
    OperationError,
    password::scram::{Hash, Keys, ROUNDS},
    refusal::SaslRefusal,
    request::context::RequestContext,
};

/// The server's secret for a user, real or pretended.
pub(crate) enum Secret {
    /// Stored keys.
    Keys(Keys),
    /// Passwords in the clear, one of which must be right.
    Cleartext(Vec<Vec<u8>>),
    /// There is no such user, or no usable secret: it looks like a password in the clear, and takes as long.
    Nothing,
}

/// The state after the server's first message.
pub(crate) struct Exchange {
    hash: Hash,
    user: String,
    authorization: Option<String>,
    /// The text that the client must repeat: its GS2 header and the channel binding data.
    binding: Vec<u8>,
    /// The client's first message without the GS2 header, and the server's.
    messages: String,
    nonce: String,
    rounds: u32,
    salt: Vec<u8>,
    secret: Secret,
}

/// The client's proof.
pub(crate) struct Proof {
    exchange: Exchange,
    message: String,
    presented: Vec<u8>,
}

/// The conditions for a mechanism on this connection.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) hash: Hash,
    pub(crate) binding: Binding,
    /// Whether the mechanism with channel binding is offered besides the one without.
    pub(crate) is_binding_offered: bool,
    pub(crate) origin: &'a RequestContext,
}

/// Reads the client's first message. Without a message, the client must begin (`None`). `look_up` gives the secret and
/// the salt of a user; `nonce` has not been used before.
pub(crate) fn begin(
    terms: Terms<'_>,
    message: Option<&[u8]>,
    nonce: &str,
    look_up: impl FnOnce(&str) -> Result<(Secret, Vec<u8>), OperationError>,
) -> StepResult<Option<Box<Exchange>>, Box<Proof>> {
    let Some(message) = message else {
        return Ok(Step::Challenge(Vec::new(), None));
    };
    let text = std::str::from_utf8(message).map_err(|_| SaslRefusal::malformed("not UTF-8"))?;
    let first = First::parse(text)?;
    let data = binding_data(terms, first.flag)?;
    let (secret, salt) = look_up(&first.user)?;
    let (rounds, salt) = match &secret {
        Secret::Keys(keys) => (keys.rounds, keys.salt.clone()),
        Secret::Cleartext(_) | Secret::Nothing => (ROUNDS, salt),
    };
    let nonce = format!("{}{nonce}", first.nonce);
    let answer = format!("r={nonce},s={},i={rounds}", STANDARD.encode(&salt));
    let exchange = Exchange {
        hash: terms.hash,
        user: first.user,
        authorization: first.authorization,
        binding: [first.gs2_header.as_bytes(), &data].concat(),
        messages: format!("{},{answer}", first.bare),
        nonce,
        rounds,
        salt,
        secret,
    };
    Ok(Step::Challenge(answer.into_bytes(), Some(Box::new(exchange))))
}

/// The channel binding data that follow the GS2 header.
fn binding_data<'a>(terms: Terms<'a>, flag: Flag<'_>) -> Result<Cow<'a, [u8]>, SaslRefusal> {
    let kind = match (terms.binding, flag) {
        (Binding::Unbound, Flag::Unable) => return Ok(Cow::Borrowed(&[])),
        // An attacker has removed the mechanism with channel binding from the list that the client saw.
        (Binding::Unbound, Flag::Unbound) if terms.is_binding_offered => return Err(SaslRefusal::Unauthenticated),
        (Binding::Unbound, Flag::Unbound) => return Ok(Cow::Borrowed(&[])),
        // libldap uses channel binding with both mechanisms.
        (_, Flag::Bound(kind)) if terms.is_binding_offered => kind,
        _ => return Err(SaslRefusal::malformed("channel binding")),
    };
    let channel = terms.origin.channel.as_deref();
    let (endpoint, exporter) = channel.map_or((None, None), |channel| {
        (channel.endpoint.as_deref(), channel.exporter.as_ref())
    });
    let data = match kind {
        "tls-server-end-point" => endpoint.map(Cow::Borrowed),
        "tls-exporter" => exporter.map(|octets| Cow::Borrowed(&octets[..])),
        // libldap's name for all its channel bindings. Their data begin with the name of the kind.
        "ldap" => endpoint.map(|hash| Cow::Owned([b"tls-server-end-point:", hash].concat())),
        _ => None,
    };
    data.ok_or_else(|| SaslRefusal::malformed("channel binding type"))
}

impl Exchange {
    /// Reads the client's final message.
    pub(crate) fn step(self, message: Option<&[u8]>) -> StepResult<Option<Box<Self>>, Box<Proof>> {
        let text = std::str::from_utf8(message.unwrap_or_default()).map_err(|_| SaslRefusal::malformed("not UTF-8"))?;
        let last = Final::parse(text)?;
        if last.nonce != self.nonce {
            return Err(SaslRefusal::Unauthenticated.into());
        }
        if !bool::from(last.binding.ct_eq(&self.binding)) {
            return Err(SaslRefusal::Unauthenticated.into());
        }
        let (message, presented) = (format!("{},{}", self.messages, last.without_proof), last.proof);
        Ok(Step::Claim(Claim {
            user: User::Name(self.user.clone()),
            authorization: self.authorization.clone(),
            proof: Box::new(Proof {
                exchange: self,
                message,
                presented,
            }),
        }))
    }
}

impl Proof {
    /// The server's final message, if the client knows the password. It takes milliseconds for any kind of secret.
    pub(crate) fn answer(&self) -> Option<Vec<u8>> {
        let Exchange { hash, rounds, salt, .. } = &self.exchange;
        let derive = |password: &[u8], rounds| Keys::derive(*hash, password, salt, rounds);
        let server_key = match &self.exchange.secret {
            Secret::Keys(keys) => {
                derive(b"", ROUNDS);
                self.is_of(keys).then(|| keys.server_key.clone())
            }
            Secret::Cleartext(passwords) => passwords.iter().find_map(|password| {
                let keys = derive(&prepared(password), *rounds);
                self.is_of(&keys).then_some(keys.server_key)
            }),
            Secret::Nothing => {
                derive(b"", *rounds);
                None
            }
        };
        let signature = hash.mac(&server_key?, self.message.as_bytes());
        Some(format!("v={}", STANDARD.encode(signature)).into_bytes())
    }

    fn is_of(&self, keys: &Keys) -> bool {
        let hash = self.exchange.hash;
        let signature = hash.mac(&keys.stored_key, self.message.as_bytes());
        if signature.len() != self.presented.len() {
            return false;
        }
        let client_key: Vec<u8> = signature
            .iter()
            .zip(&self.presented)
            .map(|(one, other)| one ^ other)
            .collect();
        hash.digest(&client_key).ct_eq(&keys.stored_key).into()
    }
}

/// A stored password as clients prepare it (RFC 4013); unchanged if it cannot be prepared.
fn prepared(password: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(password).ok();
    match text.and_then(|text| stringprep::saslprep(text).ok()) {
        Some(Cow::Owned(prepared)) => Cow::Owned(prepared.into_bytes()),
        _ => Cow::Borrowed(password),
    }
}

#[cfg(test)]
mod tests;
