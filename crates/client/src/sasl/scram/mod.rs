//! SCRAM (RFC 5802, RFC 7677) from the client's side, with and without channel binding (RFC 5929, RFC 9266).

use ironbark_sasl::{
    BindingType, prepared,
    scram::{
        ClientKeys, Flag, Hash, ServerFinal, ServerFirst, auth_message, binding_input, client_final,
        client_final_without_proof, client_first_bare, gs2_header,
    },
};
use subtle::ConstantTimeEq as _;

use super::{Exchange, SaslFailure, no_data};
use crate::{BindSettings, Secret};

/// What the client says about channel binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// `n`: nothing is bound.
    None,
    /// `y`: the client could, and the server does not offer it.
    NotOffered,
    /// `p`: the type and the data of a binding.
    Bound { kind: BindingType, data: Vec<u8> },
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

impl Scram {
    /// `nonce` has not been used before, is printable and has no comma.
    pub(super) fn new(hash: Hash, settings: &BindSettings, binding: Binding, nonce: String) -> Self {
        let flag = match &binding {
            Binding::None => Flag::Unable,
            Binding::NotOffered => Flag::NotOffered,
            Binding::Bound { kind, .. } => Flag::Bound(kind.name()),
        };
        let authorization = Some(settings.authorization_id.as_str()).filter(|name| !name.is_empty());
        let user = prepared(settings.authentication_id.as_bytes());
        Self {
            hash,
            password: settings.credentials.clone(),
            header: gs2_header(flag, authorization),
            binding: match binding {
                Binding::Bound { data, .. } => data,
                Binding::None | Binding::NotOffered => Vec::new(),
            },
            bare: client_first_bare(&String::from_utf8_lossy(&user), &nonce),
            nonce,
            state: State::Begun,
        }
    }

    /// The final message, and the signature that the server must have.
    fn answer(&self, message: &[u8]) -> Result<(String, Vec<u8>), SaslFailure> {
        let first = ServerFirst::parse(message);
        let first = first.map_err(|_| SaslFailure::new("the server's first message is malformed"))?;
        let (nonce, rounds) = (first.nonce, first.rounds);
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(SaslFailure::new("the server's nonce does not begin with the client's"));
        }
        if !(MIN_ROUNDS..=MAX_ROUNDS).contains(&rounds) {
            let reason = format!("the server asks for {rounds} rounds; {MIN_ROUNDS} to {MAX_ROUNDS} are allowed");
            return Err(SaslFailure(reason));
        }
        let without_proof = client_final_without_proof(&binding_input(&self.header, &self.binding), nonce);
        let signed = auth_message(&self.bare, first.text, &without_proof);
        let keys = ClientKeys::derive(self.hash, &prepared(&self.password.0), &first.salt, rounds);
        let answer = client_final(&without_proof, &keys.proof(&signed));
        Ok((answer, keys.signature(&signed)))
    }

    /// Reads the server's final message.
    fn check(&mut self, message: &[u8]) -> Result<(), SaslFailure> {
        let State::Answered(expected) = &self.state else {
            return Err(SaslFailure::unexpected());
        };
        match ServerFinal::parse(message) {
            Ok(ServerFinal::Error(error)) => {
                let error: String = error.chars().take(80).collect();
                return Err(SaslFailure(format!(
                    "the server reports \"{}\"",
                    error.escape_default()
                )));
            }
            Ok(ServerFinal::Signature(signature)) if bool::from(expected.ct_eq(&signature)) => {}
            _ => return Err(SaslFailure::impostor()),
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

#[cfg(test)]
mod tests;
