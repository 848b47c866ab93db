//! GSSAPI (RFC 4752): Kerberos V5 by the system's library. A build feature, `gssapi`.
//!
//! The key is that of `ldap@<sasl-host>` in the key table of the process (`KRB5_KTNAME`). A client of the default realm
//! has a name without a realm, as in slapd.

use ironbark_config::SecurityProperties;
use libgssapi::{
    context::{CtxFlags, SecurityContext as _, ServerCtx},
    credential::{Cred, CredUsage},
    error::Error,
    name::Name,
    oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE, GSS_NT_USER_NAME, OidSet},
};

use super::{
    layer::{LayerError, SecurityLayer},
    step::{Claim, Step, StepResult, User},
};
use crate::refusal::SaslRefusal;

/// The server's conditions for a negotiation.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) properties: SecurityProperties,
    /// Strength of the existing protection of the connection.
    pub(crate) outer_ssf: u32,
    /// The channel binding that clients may use.
    pub(crate) binding: Option<&'a [u8]>,
}

/// A negotiation under way.
pub(crate) struct Exchange {
    context: ServerCtx,
    state: State,
}

enum State {
    /// The client's token is awaited.
    Establishing,
    /// The client has our token to process, and nothing more to send.
    Established,
    /// These layers have been offered.
    Offered(Offer),
}

/// The layers that the client may choose, and the strength of those that encrypt.
#[derive(Clone, Copy)]
struct Offer {
    layers: u8,
    strength: u32,
}

/// The layers of RFC 4752 §3.3.
const NOTHING: u8 = 1;
const INTEGRITY: u8 = 2;
const CONFIDENTIALITY: u8 = 4;

/// The greatest strength that a layer may have.
pub(crate) const MAX_STRENGTH: u32 = MODERN_STRENGTH;
/// Tokens of RFC 4121 have keys of at least 128 bits; GSS-API does not reveal the exact length.
const MODERN_STRENGTH: u32 = 128;
/// The strength of other tokens (RFC 1964, RFC 4757).
const OLD_STRENGTH: u32 = 56;
const MODERN_TOKEN: &[u8] = &[5, 4];

/// A size is three octets long.
const MAX_SIZE: u32 = 0x00ff_ffff;
/// The overhead of a packet is less than this, with any key.
const OVERHEAD: usize = 128;
const MAX_PACKET_SENT: usize = 65_536;

/// The proof is the layer that protects the connection from there on, if there is one.
pub(crate) type GssapiResult = StepResult<Box<Exchange>, Option<Box<dyn SecurityLayer>>>;

/// `host` is the host name of the key. The client's first token may come with the first message.
pub(crate) fn begin(terms: Terms<'_>, host: &str, message: Option<&[u8]>) -> GssapiResult {
    let credentials = credentials(host).map_err(|error| {
        tracing::error!(target: "any", "GSSAPI: the key of ldap@{host}: {error}");
        SaslRefusal::Failed
    })?;
    let exchange = Exchange {
        context: ServerCtx::new(Some(credentials)),
        state: State::Establishing,
    };
    match message.filter(|message| !message.is_empty()) {
        Some(token) => exchange.step(terms, Some(token)),
        None => Ok(exchange.challenge(Vec::new())),
    }
}

fn credentials(host: &str) -> Result<Cred, Error> {
    let service = Name::new(format!("ldap@{host}").as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?;
    let mechanisms = OidSet::singleton(GSS_MECH_KRB5)?;
    Cred::acquire(Some(&service), None, CredUsage::Accept, Some(&mechanisms))
}

impl Terms<'_> {
    /// The layers that `sasl-secprops` permits by the rules of Cyrus SASL. `strength` is the strength of those that
    /// encrypt.
    fn layers(&self, flags: CtxFlags, strength: u32) -> u8 {
        let least = self.properties.min_ssf.saturating_sub(self.outer_ssf);
        let most = self.properties.max_ssf.saturating_sub(self.outer_ssf);
        let has = |strength, flag| {
            least <= strength && most >= strength && self.properties.max_buffer != 0 && flags.contains(flag)
        };
        let mut layers = 0;
        if least == 0 {
            layers |= NOTHING;
        }
        if has(1, CtxFlags::GSS_C_INTEG_FLAG) {
            layers |= INTEGRITY;
        }
        if has(strength, CtxFlags::GSS_C_CONF_FLAG) {
            layers |= CONFIDENTIALITY;
        }
        layers
    }

    /// The message that offers layers, with the longest packet that is accepted under one.
    fn offer(&self, layers: u8) -> [u8; 4] {
        let size = if layers == NOTHING { 0 } else { self.max_packet() };
        let [_, high, middle, low] = size.to_be_bytes();
        [layers, high, middle, low]
    }

    fn max_packet(&self) -> u32 {
        self.properties.max_buffer.min(MAX_SIZE)
    }
}

impl Exchange {
    pub(crate) fn step(mut self, terms: Terms<'_>, message: Option<&[u8]>) -> GssapiResult {
        let message = message.unwrap_or_default();
        match self.state {
            State::Establishing => {
                let token = self.context.step(message, terms.binding).map_err(refused)?;
                let token = token.map(|token| token.to_vec());
                match (self.context.is_complete(), token) {
                    (true, None) => self.offer(terms),
                    (true, Some(token)) => {
                        self.state = State::Established;
                        Ok(self.challenge(token))
                    }
                    (false, token) => Ok(self.challenge(token.unwrap_or_default())),
                }
            }
            State::Established if message.is_empty() => self.offer(terms),
            State::Established => Err(SaslRefusal::malformed("a token too many").into()),
            State::Offered(offer) => self.choose(terms, offer, message),
        }
    }

    fn challenge(self, token: Vec<u8>) -> Step<Box<Self>, Option<Box<dyn SecurityLayer>>> {
        Step::Challenge(token, Box::new(self))
    }

    /// Offers the layers that `sasl-secprops` permits. The client would miss a token that is not sent, so each token
    /// must be used.
    fn offer(mut self, terms: Terms<'_>) -> GssapiResult {
        let flags = self.context.flags().map_err(refused)?;
        let mut strength = MODERN_STRENGTH;
        let mut layers = terms.layers(flags, strength);
        let mut token = self.context.wrap(false, &terms.offer(layers)).map_err(refused)?;
        // The tokens themselves show their kind.
        if !token.starts_with(MODERN_TOKEN) {
            strength = OLD_STRENGTH;
            let old = terms.layers(flags, strength);
            if old != layers {
                layers = old;
                token = self.context.wrap(false, &terms.offer(layers)).map_err(refused)?;
            }
        }
        if layers == 0 {
            return Err(SaslRefusal::TooWeak { mechanism: "GSSAPI" }.into());
        }
        let token = token.to_vec();
        self.state = State::Offered(Offer { layers, strength });
        Ok(self.challenge(token))
    }

    fn choose(mut self, terms: Terms<'_>, offer: Offer, message: &[u8]) -> GssapiResult {
        let Offer { layers, strength } = offer;
        let choice = self.context.unwrap(message).map_err(refused)?;
        let (size, authorization) = choice
            .split_at_checked(4)
            .ok_or_else(|| SaslRefusal::malformed("no choice of a security layer"))?;
        let [chosen, high, middle, low] = *size else {
            return Err(SaslRefusal::malformed("no choice of a security layer").into());
        };
        if !chosen.is_power_of_two() || chosen & layers == 0 {
            return Err(SaslRefusal::malformed("a security layer that was not offered").into());
        }
        let authorization = std::str::from_utf8(authorization).map_err(|_| SaslRefusal::Unauthorized)?;
        let authorization = Some(authorization.to_owned()).filter(|text| !text.is_empty());
        let name = self.client().map_err(refused)?;
        let name = String::from_utf8(name).map_err(|_| SaslRefusal::Unauthenticated)?;
        let max_sent = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        let max_content = max_sent.min(MAX_PACKET_SENT).saturating_sub(OVERHEAD);
        if chosen != NOTHING && max_content == 0 {
            return Err(SaslRefusal::malformed("the client's buffer is too small").into());
        }
        let proof: Option<Box<dyn SecurityLayer>> = if chosen == NOTHING {
            None
        } else {
            let encrypts = chosen == CONFIDENTIALITY;
            Some(Box::new(Layer {
                encrypts,
                strength: if encrypts { strength } else { 1 },
                max_content,
                max_packet: usize::try_from(terms.max_packet()).unwrap_or(MAX_PACKET_SENT),
                context: self.context,
            }))
        };
        Ok(Step::Claim(Claim {
            user: User::Name(name),
            authorization,
            proof,
        }))
    }

    /// The client's name, without the default realm.
    fn client(&self) -> Result<Vec<u8>, Error> {
        let name = self.context.source_name()?.display_name()?;
        // There may be no default realm.
        let realm = default_realm().unwrap_or_default();
        Ok(name.strip_suffix(realm.as_slice()).unwrap_or(&name).to_vec())
    }
}

/// `@` and the realm of users who name none.
fn default_realm() -> Result<Vec<u8>, Error> {
    let anybody = Name::new(b"x", Some(GSS_NT_USER_NAME))?;
    let anybody = anybody.canonicalize(Some(GSS_MECH_KRB5))?.display_name()?;
    Ok(anybody.strip_prefix(b"x").unwrap_or_default().to_vec())
}

/// The reason is logged, and hidden from clients.
fn refused(error: Error) -> SaslRefusal {
    tracing::info!(target: "stats", "GSSAPI: {error}");
    SaslRefusal::Unauthenticated
}

/// Packets are tokens of `GSS_Wrap`.
#[derive(Debug)]
struct Layer {
    context: ServerCtx,
    encrypts: bool,
    strength: u32,
    max_content: usize,
    max_packet: usize,
}

impl SecurityLayer for Layer {
    fn strength(&self) -> u32 {
        self.strength
    }

    fn max_content(&self) -> usize {
        self.max_content
    }

    fn max_packet(&self) -> usize {
        self.max_packet
    }

    fn wrap(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError> {
        let token = self.context.wrap(self.encrypts, content).map_err(failed)?;
        out.extend_from_slice(&token);
        Ok(())
    }

    fn unwrap(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError> {
        let content = self.context.unwrap(packet).map_err(failed)?;
        out.extend_from_slice(&content);
        Ok(())
    }
}

fn failed(error: Error) -> LayerError {
    LayerError(error.to_string())
}
