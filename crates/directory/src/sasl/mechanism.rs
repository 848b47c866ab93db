//! The mechanisms, and which of them a connection may use.

use ironbark_config::{ChannelBinding, SaslMechanisms as Named, SecurityFlags};
use ironbark_sasl::scram::Hash;

use super::external;
use crate::{Configuration, refusal::SaslRefusal, request::context::RequestContext};

/// A mechanism.
#[derive(Debug)]
pub(crate) struct Mechanism {
    /// Its registered name.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its word in `sasl-mechanisms`.
    named: Named,
    /// The properties that it provides, as in `sasl-secprops`.
    provides: SecurityFlags,
    /// The greatest strength of its own security layer.
    layer_ssf: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Anonymous,
    CramMd5,
    DigestMd5,
    External,
    #[cfg(feature = "gssapi")]
    Gssapi,
    Login,
    Plain,
    /// With or without channel binding.
    Scram(Hash, Binding),
}

/// Whether a mechanism is bound to the TLS channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binding {
    Bound,
    Unbound,
}

const HASHED: SecurityFlags = SecurityFlags::NO_PLAIN.with(SecurityFlags::NO_ANONYMOUS);
const SCRAM: SecurityFlags = HASHED.with(SecurityFlags::NO_ACTIVE);
const CLEAR: SecurityFlags = SecurityFlags::NO_ANONYMOUS.with(SecurityFlags::PASS_CREDENTIALS);

const fn row(name: &'static str, named: Named, kind: Kind, provides: SecurityFlags) -> Mechanism {
    Mechanism {
        name,
        kind,
        named,
        provides,
        layer_ssf: 0,
    }
}

/// In the order in which slapd lists them.
static MECHANISMS: &[Mechanism] = &[
    #[cfg(feature = "gssapi")]
    Mechanism {
        layer_ssf: super::gssapi::MAX_STRENGTH,
        ..row(
            "GSSAPI",
            Named::GSSAPI,
            Kind::Gssapi,
            SCRAM.with(SecurityFlags::PASS_CREDENTIALS),
        )
    },
    row(
        "SCRAM-SHA-512-PLUS",
        Named::SCRAM_SHA_512_PLUS,
        Kind::Scram(Hash::Sha512, Binding::Bound),
        SCRAM,
    ),
    row(
        "SCRAM-SHA-512",
        Named::SCRAM_SHA_512,
        Kind::Scram(Hash::Sha512, Binding::Unbound),
        SCRAM,
    ),
    row(
        "SCRAM-SHA-256-PLUS",
        Named::SCRAM_SHA_256_PLUS,
        Kind::Scram(Hash::Sha256, Binding::Bound),
        SCRAM,
    ),
    row(
        "SCRAM-SHA-256",
        Named::SCRAM_SHA_256,
        Kind::Scram(Hash::Sha256, Binding::Unbound),
        SCRAM,
    ),
    row(
        "SCRAM-SHA-1-PLUS",
        Named::SCRAM_SHA_1_PLUS,
        Kind::Scram(Hash::Sha1, Binding::Bound),
        SCRAM,
    ),
    row(
        "SCRAM-SHA-1",
        Named::SCRAM_SHA_1,
        Kind::Scram(Hash::Sha1, Binding::Unbound),
        SCRAM,
    ),
    row("DIGEST-MD5", Named::DIGEST_MD5, Kind::DigestMd5, HASHED),
    row(
        "EXTERNAL",
        Named::EXTERNAL,
        Kind::External,
        HASHED.with(SecurityFlags::NO_DICTIONARY),
    ),
    row("CRAM-MD5", Named::CRAM_MD5, Kind::CramMd5, HASHED),
    row("PLAIN", Named::PLAIN, Kind::Plain, CLEAR),
    row("LOGIN", Named::LOGIN, Kind::Login, CLEAR),
    row(
        "ANONYMOUS",
        Named::ANONYMOUS,
        Kind::Anonymous,
        SecurityFlags::NO_PLAIN.with(SecurityFlags::NO_DICTIONARY),
    ),
];

impl Mechanism {
    /// By its name, in any case.
    pub(crate) fn find(name: &[u8]) -> Option<&'static Self> {
        MECHANISMS
            .iter()
            .find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether a connection may use it: checks `sasl-mechanisms`, and `sasl-secprops` against its properties and the
    /// protection of the connection.
    ///
    /// # Errors
    /// The reason, in Cyrus SASL's order and words.
    pub(crate) fn check(&self, configuration: &Configuration, situation: Situation) -> Result<(), SaslRefusal> {
        let permitted = configuration.settings.sasl.mechanisms;
        if permitted.is_some_and(|set| !set.contains(self.named)) {
            return Err(SaslRefusal::NoMechanism);
        }
        let properties = &configuration.settings.sasl.properties;
        if self.layer_ssf < properties.min_ssf.saturating_sub(situation.ssf) {
            return Err(SaslRefusal::TooWeak { mechanism: self.name });
        }
        let is_possible = match self.kind {
            Kind::External => situation.tells_client,
            Kind::Scram(_, Binding::Bound) => situation.has_binding,
            _ => true,
        };
        if !is_possible {
            return Err(SaslRefusal::NoMechanism);
        }
        let mut demanded = properties.flags;
        // On a protected connection, nothing is sent in the clear.
        if situation.ssf > 1 {
            demanded = demanded.without(SecurityFlags::NO_PLAIN);
        }
        if self.provides.contains(demanded) {
            Ok(())
        } else if demanded.contains(SecurityFlags::NO_PLAIN) && !self.provides.contains(SecurityFlags::NO_PLAIN) {
            Err(SaslRefusal::InTheClear)
        } else {
            Err(SaslRefusal::NoMechanism)
        }
    }
}

/// The facts that decide which mechanisms a connection is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// Whether the connection identifies the client.
    tells_client: bool,
    /// Whether mechanisms can bind themselves to the connection's TLS channel.
    pub(crate) has_binding: bool,
    ssf: u32,
}

impl Situation {
    pub(crate) fn of(configuration: &Configuration, origin: &RequestContext) -> Self {
        let channel = origin.channel.as_ref();
        let can_bind = channel.is_some_and(|channel| channel.endpoint.is_some() || channel.exporter.is_some());
        Self {
            tells_client: external::is_available(origin),
            has_binding: can_bind && configuration.settings.sasl.channel_binding == ChannelBinding::TlsEndpoint,
            ssf: origin.strength.ssf,
        }
    }

    /// One situation of each kind that makes a difference.
    pub(crate) fn all(configuration: &Configuration) -> impl Iterator<Item = Self> {
        let least = configuration.settings.sasl.properties.min_ssf;
        let with_layers = MECHANISMS.iter().map(move |row| least.saturating_sub(row.layer_ssf));
        let strengths = [0, 2, u32::MAX].into_iter().chain(with_layers);
        let of_strength = |ssf| {
            [(false, false), (false, true), (true, false), (true, true)].map(move |(tells_client, has_binding)| Self {
                tells_client,
                has_binding,
                ssf,
            })
        };
        strengths.flat_map(of_strength)
    }
}

/// The names of the mechanisms that a connection is offered.
pub(crate) fn offered(configuration: &Configuration, situation: Situation) -> impl Iterator<Item = &'static str> + '_ {
    let offered = MECHANISMS
        .iter()
        .filter(move |row| row.check(configuration, situation).is_ok());
    offered.map(|row| row.name)
}
