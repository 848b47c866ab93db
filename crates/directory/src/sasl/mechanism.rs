//! The mechanisms, and which of them a connection is offered.

use ironbark_config::{ChannelBinding, SaslMechanisms as Named, SecurityFlags};

use super::external;
use crate::{Configuration, operation::Origin, password::scram::Hash};

/// A mechanism.
#[derive(Debug)]
pub(crate) struct Mechanism {
    /// Its registered name.
    pub(crate) name: &'static str,
    pub(super) kind: Kind,
    /// What `sasl-mechanisms` calls it.
    named: Named,
    /// What it provides, as `sasl-secprops` asks for it.
    provides: SecurityFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Anonymous,
    CramMd5,
    DigestMd5,
    External,
    Login,
    Plain,
    /// With channel binding, or without.
    Scram(Hash, Binding),
}

/// Whether a mechanism is bound to the TLS channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
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
    }
}

/// In the order in which slapd lists them.
static MECHANISMS: [Mechanism; 12] = [
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
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        MECHANISMS
            .iter()
            .find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether a connection may use it: `sasl-mechanisms`, and `sasl-secprops` against what it provides and what protects the connection.
    pub(super) fn is_offered(&self, configuration: &Configuration, situation: Situation) -> bool {
        let properties = &configuration.settings.sasl.properties;
        let mut demanded = properties.flags;
        // As in Cyrus SASL: under protection, nothing passes in the clear.
        if situation.ssf > 1 {
            demanded = demanded.without(SecurityFlags::NO_PLAIN);
        }
        let is_possible = match self.kind {
            Kind::External => situation.tells_client,
            Kind::Scram(_, Binding::Bound) => situation.has_binding,
            _ => true,
        };
        let is_permitted = configuration
            .settings
            .sasl
            .mechanisms
            .is_none_or(|set| set.contains(self.named));
        is_permitted && is_possible && self.provides.contains(demanded) && situation.ssf >= properties.min_ssf
    }
}

/// What decides which mechanisms a connection is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// Whether the connection tells who the client is.
    tells_client: bool,
    /// Whether mechanisms can bind themselves to the connection's TLS channel.
    pub(super) has_binding: bool,
    ssf: u32,
}

impl Situation {
    pub(crate) fn of(configuration: &Configuration, origin: &Origin) -> Self {
        let channel = origin.channel.as_ref();
        let can_bind = channel.is_some_and(|channel| channel.endpoint.is_some() || channel.exporter.is_some());
        Self {
            tells_client: external::is_available(origin),
            has_binding: can_bind && configuration.settings.sasl.channel_binding == ChannelBinding::TlsEndpoint,
            ssf: origin.strength.ssf,
        }
    }

    /// One of each kind that makes a difference.
    pub(crate) fn all(configuration: &Configuration) -> impl Iterator<Item = Self> {
        let strengths = [0, 2, configuration.settings.sasl.properties.min_ssf, u32::MAX];
        let of_strength = |ssf| {
            [(false, false), (false, true), (true, false), (true, true)].map(move |(tells_client, has_binding)| Self {
                tells_client,
                has_binding,
                ssf,
            })
        };
        strengths.into_iter().flat_map(of_strength)
    }
}

/// The names of the mechanisms that a connection is offered.
pub(crate) fn offered(configuration: &Configuration, situation: Situation) -> impl Iterator<Item = &'static str> + '_ {
    let offered = MECHANISMS
        .iter()
        .filter(move |row| row.is_offered(configuration, situation));
    offered.map(|row| row.name)
}
