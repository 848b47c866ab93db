//! The mechanisms, and which of them a connection may use.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_runtime::Randomness;
use ironbark_sasl::{BindingType, scram::Hash};

#[cfg(feature = "gssapi")]
use super::gssapi::Gssapi;
use super::{
    Exchange, SaslFailure,
    cram_md5::CramMd5,
    digest_md5::DigestMd5,
    external::External,
    plain::Plain,
    scram::{Binding, Scram},
};
use crate::{BindSettings, ChannelBindingType, ClientError, NegotiatedTls, SecurityFlags};

/// A mechanism.
#[derive(Debug)]
pub(crate) struct Mechanism {
    /// Its registered name.
    pub(crate) name: &'static str,
    kind: Kind,
    /// The properties that it provides, as in `secprops`.
    provides: SecurityFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    CramMd5,
    DigestMd5,
    External,
    #[cfg(feature = "gssapi")]
    Gssapi,
    Plain,
    Scram(Hash),
    /// Bound to the TLS channel.
    ScramPlus(Hash),
}

/// The facts about a connection that decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// The server's name for DIGEST-MD5.
    pub(crate) host: &'a str,
    /// The connection is a Unix domain socket.
    pub(crate) is_local: bool,
    pub(crate) tls: Option<&'a NegotiatedTls>,
    /// The names that the server offers, if it was asked.
    pub(crate) offered: Option<&'a [String]>,
}

const HASHED: SecurityFlags = SecurityFlags::NO_PLAIN.with(SecurityFlags::NO_ANONYMOUS);
const SCRAM: SecurityFlags = HASHED.with(SecurityFlags::NO_ACTIVE);
const CLEAR: SecurityFlags = SecurityFlags::NO_ANONYMOUS.with(SecurityFlags::PASS_CREDENTIALS);

const fn row(name: &'static str, kind: Kind, provides: SecurityFlags) -> Mechanism {
    Mechanism { name, kind, provides }
}

/// The strongest first.
static MECHANISMS: &[Mechanism] = &[
    row("SCRAM-SHA-512-PLUS", Kind::ScramPlus(Hash::Sha512), SCRAM),
    row("SCRAM-SHA-256-PLUS", Kind::ScramPlus(Hash::Sha256), SCRAM),
    row("SCRAM-SHA-1-PLUS", Kind::ScramPlus(Hash::Sha1), SCRAM),
    row("SCRAM-SHA-512", Kind::Scram(Hash::Sha512), SCRAM),
    row("SCRAM-SHA-256", Kind::Scram(Hash::Sha256), SCRAM),
    row("SCRAM-SHA-1", Kind::Scram(Hash::Sha1), SCRAM),
    row("EXTERNAL", Kind::External, HASHED.with(SecurityFlags::NO_DICTIONARY)),
    #[cfg(feature = "gssapi")]
    row("GSSAPI", Kind::Gssapi, SCRAM.with(SecurityFlags::PASS_CREDENTIALS)),
    row("DIGEST-MD5", Kind::DigestMd5, HASHED),
    row("CRAM-MD5", Kind::CramMd5, HASHED),
    row("PLAIN", Kind::Plain, CLEAR),
];

/// The first mechanism of the settings, or of the server if the settings name none, that the connection may use.
///
/// # Errors
/// [`ClientError::Setting`]: which setting stands against it; with several mechanisms, for each.
pub(crate) fn choose(settings: &BindSettings, situation: Situation<'_>) -> Result<&'static Mechanism, ClientError> {
    let named: Vec<&str> = settings
        .mechanisms
        .split([' ', ','])
        .filter(|name| !name.is_empty())
        .collect();
    let known = |name: &str| MECHANISMS.iter().any(|row| row.name.eq_ignore_ascii_case(name));
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        return Err(ClientError::setting(
            "saslmech",
            format!("no mechanism \"{unknown}\"; there are {}", names()),
        ));
    }
    let offered = situation.offered.unwrap_or_default().iter().map(String::as_str);
    let named: Vec<&str> = if named.is_empty() { offered.collect() } else { named };
    let mut refusals = Vec::new();
    for row in MECHANISMS {
        if named.iter().any(|name| row.name.eq_ignore_ascii_case(name)) {
            match row.check(settings, situation) {
                Ok(()) => return Ok(row),
                Err(refusal) => refusals.push((row.name, refusal)),
            }
        }
    }
    match &refusals[..] {
        [] => Err(ClientError::setting(
            "saslmech",
            format!("the server offers none of {}", names()),
        )),
        [(name, (setting, reason))] => Err(ClientError::setting(setting, format!("{name} {reason}"))),
        several => {
            let reasons = several
                .iter()
                .map(|(name, (setting, reason))| format!("{name} {reason} ({setting})"));
            Err(ClientError::setting("saslmech", reasons.collect::<Vec<_>>().join("; ")))
        }
    }
}

fn names() -> String {
    let names: Vec<&str> = MECHANISMS.iter().map(|row| row.name).collect();
    names.join(", ")
}

/// A setting, and what it says against a mechanism.
type Refusal = (&'static str, String);

impl Mechanism {
    fn check(&self, settings: &BindSettings, situation: Situation<'_>) -> Result<(), Refusal> {
        let refused = |setting, reason: &str| Err((setting, reason.to_owned()));
        match self.kind {
            Kind::External if situation.is_local || situation.tls.is_some_and(|tls| tls.has_certificate) => {}
            Kind::External => return refused("tls_cert", "needs a certificate and TLS, or ldapi://"),
            Kind::ScramPlus(_) if bound(settings, situation).is_none() => {
                return refused("saslmech", "needs TLS, and a channel binding that its version has");
            }
            #[cfg(feature = "gssapi")]
            Kind::Gssapi => {}
            _ if settings.authentication_id.is_empty() => return refused("authcid", "needs a name"),
            _ if settings.credentials.0.is_empty() => return refused("credentials", "needs a password"),
            _ => {}
        }
        self.check_security(settings, situation)
    }

    fn check_security(&self, settings: &BindSettings, situation: Situation<'_>) -> Result<(), Refusal> {
        let security = settings.security;
        let strength = match situation.tls {
            Some(tls) => tls.negotiated.strength,
            None if situation.is_local => LOCAL_STRENGTH,
            None => 0,
        };
        if strength < security.min_ssf {
            let reason = format!("has a connection of strength {strength}; minssf={}", security.min_ssf);
            return Err(("secprops", reason));
        }
        let mut demanded = security.flags;
        // On a protected connection, nothing is sent in the clear.
        if strength > 1 {
            demanded = demanded.without(SecurityFlags::NO_PLAIN);
        }
        let missing: Vec<&str> = demanded.without(self.provides).words().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(("secprops", format!("is not {}", missing.join(","))))
    }

    /// Begins a negotiation.
    ///
    /// # Errors
    /// The settings hold something that the mechanism cannot carry; there are no random octets.
    pub(crate) fn start(
        &self,
        settings: &BindSettings,
        situation: Situation<'_>,
    ) -> Result<Box<dyn Exchange>, SaslFailure> {
        let nonce = || {
            let octets = Randomness::system().bytes::<24>();
            octets
                .map(|octets| STANDARD.encode(octets))
                .map_err(|error| SaslFailure::new(error.to_string()))
        };
        Ok(match self.kind {
            Kind::CramMd5 => Box::new(CramMd5::new(settings)?),
            Kind::DigestMd5 => Box::new(DigestMd5::new(settings, situation.host, nonce()?)),
            Kind::External => Box::new(External(settings.authorization_id.clone())),
            #[cfg(feature = "gssapi")]
            Kind::Gssapi => Box::new(Gssapi::new(settings, situation.host)),
            Kind::Plain => Box::new(Plain::new(settings)?),
            Kind::Scram(hash) => Box::new(Scram::new(hash, settings, self.unbound(settings, situation), nonce()?)),
            Kind::ScramPlus(hash) => {
                let binding = bound(settings, situation).unwrap_or(Binding::None);
                Box::new(Scram::new(hash, settings, binding, nonce()?))
            }
        })
    }

    /// What SCRAM without channel binding says about it. If the server was asked and offers none, but an attacker has
    /// changed its answer, then it notices by `y` (RFC 5802 §6).
    fn unbound(&self, settings: &BindSettings, situation: Situation<'_>) -> Binding {
        let with_binding = |name: &String| {
            name.strip_suffix("-PLUS")
                .is_some_and(|name| name.eq_ignore_ascii_case(self.name))
        };
        match situation.offered {
            Some(offered) if bound(settings, situation).is_some() && !offered.iter().any(with_binding) => {
                Binding::NotOffered
            }
            _ => Binding::None,
        }
    }
}

/// The channel binding of the connection.
fn bound(settings: &BindSettings, situation: Situation<'_>) -> Option<Binding> {
    let tls = situation.tls?;
    let kind = match settings.channel_binding {
        ChannelBindingType::OpenLdap => BindingType::OpenLdap,
        ChannelBindingType::ServerEndPoint => BindingType::ServerEndPoint,
        ChannelBindingType::Exporter => BindingType::Exporter,
    };
    let exporter = tls.negotiated.exporter.as_ref().map(<[u8; 32]>::as_slice);
    let data = kind.data(tls.endpoint.as_deref(), exporter)?;
    Some(Binding::Bound { kind, data })
}

/// libldap's and slapd's strength of a Unix domain socket.
const LOCAL_STRENGTH: u32 = 71;

#[cfg(test)]
mod tests {
    use ironbark_tls::Negotiated;

    use super::*;
    use crate::{BindSecurityProperties, Secret};

    fn settings(mechanisms: &str, secprops: &str) -> BindSettings {
        BindSettings {
            mechanisms: mechanisms.to_owned(),
            authentication_id: "ann".to_owned(),
            credentials: Secret(b"pencil".to_vec()),
            security: BindSecurityProperties::parse(secprops).unwrap(),
            ..BindSettings::default()
        }
    }

    const PLAIN: Situation<'static> = Situation {
        host: "localhost",
        is_local: false,
        tls: None,
        offered: None,
    };

    fn tls(has_certificate: bool) -> NegotiatedTls {
        NegotiatedTls {
            negotiated: Negotiated {
                protocol: "TLSv1.2",
                cipher: "x",
                strength: 128,
                exporter: None,
            },
            endpoint: Some(vec![1]),
            has_certificate,
        }
    }

    fn chosen(settings: &BindSettings, situation: Situation<'_>) -> Result<&'static str, String> {
        let chosen = choose(settings, situation).map(|row| row.name);
        chosen.map_err(|error| error.to_string())
    }

    #[test]
    fn the_strongest_that_is_possible_is_chosen() {
        let tls = tls(true);
        let secured = Situation {
            tls: Some(&tls),
            ..PLAIN
        };
        let all = "plain CRAM-MD5,DIGEST-MD5 EXTERNAL SCRAM-SHA-1 SCRAM-SHA-256-PLUS";
        assert_eq!(
            chosen(&settings(all, "minssf=0"), secured).unwrap(),
            "SCRAM-SHA-256-PLUS"
        );
        assert_eq!(chosen(&settings(all, "minssf=0"), PLAIN).unwrap(), "SCRAM-SHA-1");
        assert_eq!(chosen(&settings(all, "nodict"), secured).unwrap(), "EXTERNAL");
        let no_password = BindSettings {
            credentials: Secret::default(),
            ..settings(all, "minssf=0")
        };
        assert_eq!(chosen(&no_password, secured).unwrap(), "EXTERNAL");
        let offered = ["GSSAPI", "EXTERNAL", "SCRAM-SHA-1", "OTHER"].map(str::to_owned);
        let asked = Situation {
            offered: Some(&offered),
            ..secured
        };
        assert_eq!(chosen(&settings("", "minssf=0"), asked).unwrap(), "SCRAM-SHA-1");
    }

    #[test]
    fn what_stands_against_a_mechanism_is_named() {
        let tls = tls(false);
        let secured = Situation {
            tls: Some(&tls),
            ..PLAIN
        };
        let why = |mechanisms, secprops, situation| chosen(&settings(mechanisms, secprops), situation).unwrap_err();
        assert!(why("PLAIN", "minssf=0", PLAIN).starts_with("secprops: PLAIN is not noplain"));
        assert!(chosen(&settings("PLAIN", "minssf=0"), secured).is_ok());
        assert!(why("SCRAM-SHA-1", "minssf=129", secured).starts_with("secprops: "));
        assert!(chosen(&settings("SCRAM-SHA-1", "minssf=128"), secured).is_ok());
        assert!(why("SCRAM-SHA-1", "forwardsec", PLAIN).contains("forwardsec"));
        assert!(why("EXTERNAL", "none", secured).starts_with("tls_cert: "));
        assert!(why("SCRAM-SHA-1-PLUS", "none", PLAIN).starts_with("saslmech: "));
        assert!(why("LOGIN", "none", PLAIN).contains("\"LOGIN\""));
        assert!(why("", "none", PLAIN).contains("the server offers none"));
        let both = why("PLAIN EXTERNAL", "noplain", PLAIN);
        assert!(both.contains("tls_cert") && both.contains("secprops"), "{both}");
        let local = Situation {
            is_local: true,
            ..PLAIN
        };
        assert_eq!(chosen(&settings("EXTERNAL", "minssf=71"), local).unwrap(), "EXTERNAL");
        let exporter = BindSettings {
            channel_binding: ChannelBindingType::Exporter,
            ..settings("SCRAM-SHA-1-PLUS", "none")
        };
        assert!(chosen(&exporter, secured).is_err(), "TLS 1.2 has none");
    }
}
