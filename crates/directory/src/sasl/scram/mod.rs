//! SCRAM (RFC 5802, RFC 7677) from the server's side, with and without channel binding (RFC 5929, RFC 9266).

use ironbark_sasl::{
    BindingType, prepared,
    scram::{ClientFinal, ClientFirst, Flag, Hash, auth_message, binding_input, server_final, server_first},
};
use subtle::ConstantTimeEq as _;

use super::{
    mechanism::Binding,
    step::{Claim, Step, StepResult, User},
};
use crate::{
    OperationError,
    password::scram::{Keys, ROUNDS},
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
    /// The client's first message without the GS2 header.
    bare: String,
    /// The server's first message.
    answer: String,
    nonce: String,
    rounds: u32,
    salt: Vec<u8>,
    secret: Secret,
}

/// The client's proof.
pub(crate) struct Proof {
    exchange: Exchange,
    auth_message: String,
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
    let first = ClientFirst::parse(message).map_err(SaslRefusal::from)?;
    let data = binding_data(terms, first.flag)?;
    let (secret, salt) = look_up(&first.user)?;
    let (rounds, salt) = match &secret {
        Secret::Keys(keys) => (keys.rounds, keys.salt.clone()),
        Secret::Cleartext(_) | Secret::Nothing => (ROUNDS, salt),
    };
    let nonce = format!("{}{nonce}", first.nonce);
    let answer = server_first(&nonce, &salt, rounds);
    let exchange = Exchange {
        hash: terms.hash,
        user: first.user,
        authorization: first.authorization,
        binding: binding_input(first.gs2_header, &data),
        bare: first.bare.to_owned(),
        answer: answer.clone(),
        nonce,
        rounds,
        salt,
        secret,
    };
    Ok(Step::Challenge(answer.into_bytes(), Some(Box::new(exchange))))
}

/// The channel binding data that follow the GS2 header.
fn binding_data(terms: Terms<'_>, flag: Flag<'_>) -> Result<Vec<u8>, SaslRefusal> {
    let kind = match (terms.binding, flag) {
        (Binding::Unbound, Flag::Unable) => return Ok(Vec::new()),
        // An attacker has removed the mechanism with channel binding from the list that the client saw.
        (Binding::Unbound, Flag::NotOffered) if terms.is_binding_offered => return Err(SaslRefusal::Unauthenticated),
        (Binding::Unbound, Flag::NotOffered) => return Ok(Vec::new()),
        // libldap uses channel binding with both mechanisms.
        (_, Flag::Bound(kind)) if terms.is_binding_offered => kind,
        _ => return Err(SaslRefusal::malformed("channel binding")),
    };
    let channel = terms.origin.channel.as_deref();
    let (endpoint, exporter) = channel.map_or((None, None), |channel| {
        (channel.endpoint.as_deref(), channel.exporter.as_ref())
    });
    let exporter = exporter.map(<[u8; 32]>::as_slice);
    let data = BindingType::find(kind).and_then(|kind| kind.data(endpoint, exporter));
    data.ok_or_else(|| SaslRefusal::malformed("channel binding type"))
}

impl Exchange {
    /// Reads the client's final message.
    pub(crate) fn step(self, message: Option<&[u8]>) -> StepResult<Option<Box<Self>>, Box<Proof>> {
        let last = ClientFinal::parse(message.unwrap_or_default()).map_err(SaslRefusal::from)?;
        if last.nonce != self.nonce {
            return Err(SaslRefusal::Unauthenticated.into());
        }
        if !bool::from(last.binding.ct_eq(&self.binding)) {
            return Err(SaslRefusal::Unauthenticated.into());
        }
        let auth_message = auth_message(&self.bare, &self.answer, last.without_proof);
        let presented = last.proof;
        Ok(Step::Claim(Claim {
            user: User::Name(self.user.clone()),
            authorization: self.authorization.clone(),
            proof: Box::new(Proof {
                exchange: self,
                auth_message,
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
        let signature = match &self.exchange.secret {
            Secret::Keys(keys) => {
                derive(b"", ROUNDS);
                self.signature_of(keys)
            }
            Secret::Cleartext(passwords) => passwords
                .iter()
                .find_map(|password| self.signature_of(&derive(&prepared(password), *rounds))),
            Secret::Nothing => {
                derive(b"", *rounds);
                None
            }
        };
        signature.map(|signature| server_final(&signature).into_bytes())
    }

    /// The server's signature, if the client has proven that it knows the password of these keys.
    fn signature_of(&self, Keys { stored, .. }: &Keys) -> Option<Vec<u8>> {
        stored
            .is_proven_by(&self.presented, &self.auth_message)
            .then(|| stored.signature(&self.auth_message))
    }
}

#[cfg(test)]
mod tests;
