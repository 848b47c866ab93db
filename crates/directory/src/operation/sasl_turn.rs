//! One step of a negotiation: checks the client's message against the expectation of the mechanism. It runs on a
//! reactor if it is quick, otherwise on the hashing pool.

use std::sync::Arc;

use ironbark_runtime::process::host_name;
use ironbark_sasl::hex;
use ironbark_store::StoreError;
use sha2::{Digest as _, Sha256};

use super::bind_policy::{CheckedBind, Exchange as Shown, judging};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::Subject,
    authorization::{Asking, dn_of_user, mapped},
    identity::{
        secrets,
        verify::{self, Verified},
    },
    outcome::log,
    refusal::SaslRefusal,
    request::{context::RequestContext, identity::Identity, stop::Restriction},
    sasl::{
        Exchange, Negotiation, Proof, SecurityLayer, anonymous, cram_md5, digest_md5, external, login,
        mechanism::{Kind, Mechanism, Situation},
        plain,
        scram::{self, Secret, Terms},
        step::Step,
    },
};

#[cfg(feature = "gssapi")]
use ironbark_sasl::prefixed_endpoint;

#[cfg(feature = "gssapi")]
use crate::sasl::gssapi::{self, GssapiResult};

/// A message of the client and everything that is needed to read it.
pub(crate) struct Turn {
    pub(crate) directory: Arc<Directory>,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) origin: RequestContext,
    pub(crate) mechanism: &'static Mechanism,
    pub(crate) exchange: Exchange,
    pub(crate) message: Option<Vec<u8>>,
    /// The restriction that the password policy may set on the session.
    pub(crate) restriction: Restriction,
}

/// The successful end of a step.
pub(crate) enum Ended {
    Settled(Settled),
    /// A password was checked, and this database takes part in the decision about its use.
    Judged(Box<CheckedBind>, Arc<NamingContext>),
}

/// A result that can be answered at once.
pub(crate) enum Settled {
    /// The client must send another message.
    Challenge(Vec<u8>, Negotiation),
    /// The client is known. The mechanism may have a final message for it, and may protect the connection from there
    /// on.
    Accepted(Arc<Identity>, Option<Vec<u8>>, Option<Box<dyn SecurityLayer>>),
}

impl Turn {
    /// Whether the step may compute for milliseconds, or search for long.
    pub(crate) fn takes_long(&self) -> bool {
        let searches = || {
            self.configuration
                .settings
                .sasl
                .authz_regexps
                .iter()
                .any(|row| row.replacement.contains("://"))
        };
        match (self.mechanism.kind, &self.exchange) {
            (Kind::Plain | Kind::Login, _) | (Kind::Scram(..), Exchange::Scram(_)) => true,
            // Key tables and replay caches are files.
            #[cfg(feature = "gssapi")]
            (Kind::Gssapi, _) => true,
            _ => searches(),
        }
    }

    /// # Errors
    /// The negotiation has failed.
    pub(crate) fn run(mut self) -> Result<Ended, OperationError> {
        let exchange = std::mem::replace(&mut self.exchange, Exchange::Begin);
        let step = self.step(exchange)?;
        let claim = match step {
            Step::Challenge(challenge, exchange) => {
                let mechanism = self.mechanism;
                let negotiation = Negotiation { mechanism, exchange };
                return Ok(Ended::Settled(Settled::Challenge(challenge, negotiation)));
            }
            Step::Claim(claim) => claim,
        };
        let pool = self.directory.hashing_pool();
        let verified = verify::verify(self.asking(), &self.origin, pool, self.mechanism, claim)?;
        self.end(verified)
    }

    fn end(&self, verified: Verified) -> Result<Ended, OperationError> {
        let Verified {
            dn,
            is_proven,
            identity,
            is_by_password,
            password,
            data,
            layer,
        } = verified;
        if is_by_password && let Some(context) = judging(&self.configuration, &dn) {
            let shown = Shown {
                mechanism: self.mechanism.name,
                password,
                server_credentials: data,
            };
            let judgement = CheckedBind::new(&self.restriction, dn, is_proven, shown).claiming(identity);
            return Ok(Ended::Judged(Box::new(judgement), Arc::clone(context)));
        }
        let identity = identity?;
        let strength = layer.as_ref().map_or(0, |layer| layer.strength());
        log::bound(&self.origin, dn.pretty(), self.mechanism.name, strength);
        Ok(Ended::Settled(Settled::Accepted(Arc::new(identity), data, layer)))
    }

    /// Until the client is known, entries are looked up anonymously.
    fn asking(&self) -> Asking<'_> {
        Asking {
            configuration: &self.configuration,
            subject: Subject::anonymous(&self.origin),
            // If mappings search, the steps run on the hashing pool.
            look_through: None,
        }
    }

    fn step(&self, exchange: Exchange) -> Taken {
        let message = self.message.as_deref();
        Ok(match exchange {
            Exchange::Login(exchange) => login::step(exchange, message)?.map(Exchange::Login, Proof::Password),
            Exchange::CramMd5(exchange) => cram_md5::step(exchange, message)?.map(Exchange::CramMd5, Proof::CramMd5),
            Exchange::DigestMd5(exchange) => {
                digest_md5::step(&exchange, message)?.map(Exchange::DigestMd5, Proof::DigestMd5)
            }
            Exchange::Scram(exchange) => scram_step(exchange.step(message)?),
            #[cfg(feature = "gssapi")]
            Exchange::Gssapi(exchange) => self.with_gssapi(|terms| exchange.step(terms, message))?,
            Exchange::Begin => self.begin(message)?,
        })
    }

    fn begin(&self, message: Option<&[u8]>) -> Taken {
        let (again, given) = (|()| Exchange::Begin, |()| Proof::Given);
        Ok(match self.mechanism.kind {
            Kind::Anonymous => anonymous::step(message)?.map(again, given),
            #[cfg(feature = "gssapi")]
            Kind::Gssapi => self.with_gssapi(|terms| gssapi::begin(terms, &self.host(), message))?,
            Kind::External => external::step(&self.configuration.schema, &self.origin, message)?.map(again, given),
            Kind::Plain => plain::step(message)?.map(again, Proof::Password),
            Kind::Login => login::begin(message)?.map(Exchange::Login, Proof::Password),
            Kind::CramMd5 => {
                cram_md5::begin(message, &self.nonce()?, &self.host())?.map(Exchange::CramMd5, Proof::CramMd5)
            }
            Kind::DigestMd5 => {
                let realm = self.realm().map_or_else(|| self.host(), str::to_owned);
                digest_md5::begin(message, self.nonce()?, &realm).map(Exchange::DigestMd5, Proof::DigestMd5)
            }
            Kind::Scram(hash, binding) => {
                let is_binding_offered = Situation::of(&self.configuration, &self.origin).has_binding;
                let terms = Terms {
                    hash,
                    binding,
                    is_binding_offered,
                    origin: &self.origin,
                };
                let begun = scram::begin(terms, message, &self.nonce()?, |user| self.scram_secret(user, terms));
                scram_step(begun?)
            }
        })
    }

    #[cfg(feature = "gssapi")]
    fn with_gssapi(&self, step: impl FnOnce(gssapi::Terms<'_>) -> GssapiResult) -> Taken {
        let has_binding = Situation::of(&self.configuration, &self.origin).has_binding;
        let channel = self.origin.channel.as_ref().filter(|_| has_binding);
        let binding = channel.and_then(|channel| channel.endpoint.as_deref());
        let binding = binding.map(prefixed_endpoint);
        let taken = step(gssapi::Terms {
            properties: self.configuration.settings.sasl.properties,
            outer_ssf: self.origin.strength.ssf,
            binding: binding.as_deref(),
        })?;
        let proof = |layer: Option<_>| layer.map_or(Proof::Given, Proof::Protected);
        Ok(taken.map(Exchange::Gssapi, proof))
    }

    fn scram_secret(&self, user: &str, terms: Terms<'_>) -> Result<(Secret, Vec<u8>), OperationError> {
        let asking = self.asking();
        let secret = match dn_of_user(
            &self.configuration.schema,
            user,
            self.realm(),
            Some(self.mechanism.name),
        ) {
            Some(dn) => secrets::scram(asking, &mapped(asking, dn)?, terms.hash)?,
            None => Secret::Nothing,
        };
        Ok((secret, self.salt(user, terms)?))
    }

    /// A salt that is always the same for a name, even if there is no such user. It is derived from a secret number of
    /// the first database.
    fn salt(&self, user: &str, terms: Terms<'_>) -> Result<Vec<u8>, StoreError> {
        let mut seed = Sha256::new();
        if let Some(database) = self
            .configuration
            .contexts
            .iter()
            .find_map(|context| context.database())
        {
            seed.update(database.snapshot()?.view().identifier()?);
        }
        let mut salt = terms.hash.mac(&seed.finalize(), user.as_bytes());
        salt.truncate(SALT_LENGTH);
        Ok(salt)
    }

    fn realm(&self) -> Option<&str> {
        self.configuration.settings.sasl.realm.as_deref()
    }

    fn host(&self) -> String {
        self.configuration.settings.sasl.host.clone().unwrap_or_else(host_name)
    }

    fn nonce(&self) -> Result<String, OperationError> {
        let octets: [u8; NONCE_LENGTH] = self.directory.randomness().bytes().map_err(|error| {
            tracing::error!(target: "any", "making a nonce: {error}");
            SaslRefusal::Failed
        })?;
        Ok(hex(&octets))
    }
}

/// A step in the common form of all mechanisms.
type Taken = Result<Step<Exchange, Proof>, OperationError>;

fn scram_step(step: Step<Option<Box<scram::Exchange>>, Box<scram::Proof>>) -> Step<Exchange, Proof> {
    step.map(
        |exchange| exchange.map_or(Exchange::Begin, Exchange::Scram),
        Proof::Scram,
    )
}

const NONCE_LENGTH: usize = 18;
const SALT_LENGTH: usize = 16;
