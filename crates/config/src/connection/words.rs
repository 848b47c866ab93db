//! Settings in slapd's words: `starttls=critical`, `tls_reqcert=demand` and so on.

use std::time::Duration;

use ironbark_model::ldap_url::{LdapUrl, LdapUrlError};

use super::{
    BindMethod, BindSecurityProperties, ConnectSettings, Keepalive, RequireCertificate, RequireSan, SecurityWordError,
    ServerCrlCheck, StartTls,
};
use crate::{SettingError, secret::Secret};

impl ConnectSettings {
    /// Obeys one `keyword=value` of a line such as `syncrepl`. The case of the keyword is ignored. Returns `false` if
    /// the keyword is none of a connection's.
    ///
    /// # Errors
    /// [`SettingError::Wrong`], which names the keyword.
    pub fn set(&mut self, keyword: &str, value: &str) -> Result<bool, SettingError> {
        let Some((name, set)) = SETTERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(keyword)) else {
            return Ok(false);
        };
        set(self, value).map_err(|error| SettingError::Wrong(format!("{name}: {error}")))?;
        Ok(true)
    }

    /// The meaning of a `tls_*` word. If it has none, slapd takes the line nevertheless, and each attempt to connect
    /// fails.
    fn usable<T>(&mut self, keyword: &'static str, meaning: Result<T, WordError>) -> Option<T> {
        self.unusable.take_if(|(known, _)| *known == keyword);
        match meaning {
            Ok(meaning) => Some(meaning),
            Err(error) => {
                self.unusable = Some((keyword, error.to_string()));
                None
            }
        }
    }
}

/// Why a value has no meaning.
#[derive(Debug, thiserror::Error)]
enum WordError {
    #[error("\"{0}\": only 3 is supported")]
    Version(String),
    #[error("\"{value}\" is none of {known}")]
    NoneOf { value: String, known: String },
    #[error("\"{0}\" is no number")]
    NoNumber(String),
    #[error("\"{word}\": {error}")]
    Url { word: String, error: LdapUrlError },
    #[error("no URL is named")]
    NoUrl,
    #[error("\"{0}\" is not idle:probes:interval")]
    Keepalive(String),
    #[error("\"{0}\" is no version such as 3.3")]
    ProtocolVersion(String),
    #[error(transparent)]
    Security(#[from] SecurityWordError),
}

type Set = fn(&mut ConnectSettings, &str) -> Result<(), WordError>;

static SETTERS: &[(&str, Set)] = &[
    ("uri", set_urls),
    ("provider", set_urls),
    ("version", |_, value| {
        let is_supported = value == "3";
        is_supported
            .then_some(())
            .ok_or_else(|| WordError::Version(value.to_owned()))
    }),
    ("bindmethod", |settings, value| {
        settings.bind.method = word(value, METHODS)?;
        Ok(())
    }),
    ("binddn", |settings, value| text(&mut settings.bind.dn, value)),
    ("credentials", |settings, value| {
        settings.bind.credentials = Secret(value.as_bytes().to_vec());
        Ok(())
    }),
    ("saslmech", |settings, value| text(&mut settings.bind.mechanisms, value)),
    ("authcid", |settings, value| {
        text(&mut settings.bind.authentication_id, value)
    }),
    ("authzid", |settings, value| {
        text(&mut settings.bind.authorization_id, value)
    }),
    ("realm", |settings, value| text(&mut settings.bind.realm, value)),
    ("secprops", |settings, value| {
        settings.bind.security = BindSecurityProperties::parse(value)?;
        Ok(())
    }),
    ("timeout", |settings, value| {
        seconds(&mut settings.operation_timeout, value)
    }),
    ("network-timeout", |settings, value| {
        seconds(&mut settings.connect_timeout, value)
    }),
    ("keepalive", |settings, value| {
        settings.socket.keepalive = keepalive(value)?;
        Ok(())
    }),
    ("tcp-user-timeout", |settings, value| {
        let milliseconds = u64::from(number(value)?);
        settings.socket.user_timeout = Some(Duration::from_millis(milliseconds)).filter(|time| !time.is_zero());
        Ok(())
    }),
    ("starttls", |settings, value| {
        settings.start_tls = word(value, START_TLS)?;
        Ok(())
    }),
    ("tls_cert", |settings, value| {
        settings.tls.certificate_file = Some(value.into());
        Ok(())
    }),
    ("tls_key", |settings, value| {
        settings.tls.key_file = Some(value.into());
        Ok(())
    }),
    ("tls_cacert", |settings, value| {
        settings.tls.ca_certificate_file = Some(value.into());
        Ok(())
    }),
    ("tls_cacertdir", |settings, value| {
        settings.tls.ca_certificate_path = Some(value.to_owned());
        Ok(())
    }),
    ("tls_reqcert", |settings, value| {
        let level = word(value, CERTIFICATE_LEVELS);
        settings.tls.require_certificate = settings.usable("tls_reqcert", level).unwrap_or_default();
        Ok(())
    }),
    ("tls_reqsan", |settings, value| {
        let level = word(value, SAN_LEVELS);
        settings.tls.require_san = settings.usable("tls_reqsan", level).unwrap_or(RequireSan::Demand);
        Ok(())
    }),
    ("tls_cipher_suite", |settings, value| {
        settings.tls.cipher_suite = Some(value.to_owned());
        Ok(())
    }),
    ("tls_ecname", |settings, value| {
        settings.tls.curves = Some(value.to_owned());
        Ok(())
    }),
    ("tls_crlcheck", |settings, value| {
        settings.tls.crl_check = Some(word(value, CRL_CHECKS)?);
        Ok(())
    }),
    ("tls_protocol_min", |settings, value| {
        let version = protocol_version(value);
        settings.tls.protocol_min = settings.usable("tls_protocol_min", version).unwrap_or_default();
        Ok(())
    }),
];

const METHODS: &[(&str, BindMethod)] = &[
    ("none", BindMethod::None),
    ("simple", BindMethod::Simple),
    ("sasl", BindMethod::Sasl),
];
const START_TLS: &[(&str, StartTls)] = &[
    ("no", StartTls::No),
    ("yes", StartTls::Yes),
    ("critical", StartTls::Critical),
];
const CERTIFICATE_LEVELS: &[(&str, RequireCertificate)] = &[
    ("never", RequireCertificate::Never),
    ("allow", RequireCertificate::Allow),
    ("try", RequireCertificate::Try),
    ("demand", RequireCertificate::Demand),
    ("hard", RequireCertificate::Demand),
    ("true", RequireCertificate::Demand),
    ("on", RequireCertificate::Demand),
    ("yes", RequireCertificate::Demand),
];
const SAN_LEVELS: &[(&str, RequireSan)] = &[
    ("never", RequireSan::Never),
    ("allow", RequireSan::Allow),
    ("try", RequireSan::Try),
    ("demand", RequireSan::Demand),
    ("hard", RequireSan::Demand),
    ("true", RequireSan::Demand),
    ("on", RequireSan::Demand),
    ("yes", RequireSan::Demand),
];
const CRL_CHECKS: &[(&str, ServerCrlCheck)] = &[
    ("none", ServerCrlCheck::None),
    ("peer", ServerCrlCheck::Peer),
    ("all", ServerCrlCheck::All),
];

fn word<T: Copy>(value: &str, words: &[(&str, T)]) -> Result<T, WordError> {
    let known = words.iter().find(|(name, _)| name.eq_ignore_ascii_case(value));
    known.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        WordError::NoneOf {
            value: value.to_owned(),
            known: names.join(", "),
        }
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a setter")]
fn text(place: &mut String, value: &str) -> Result<(), WordError> {
    value.clone_into(place);
    Ok(())
}

fn number(value: &str) -> Result<u32, WordError> {
    value.parse().map_err(|_| WordError::NoNumber(value.to_owned()))
}

/// 0 leaves the default: no wait is without a limit.
fn seconds(place: &mut Option<Duration>, value: &str) -> Result<(), WordError> {
    let seconds = number(value)?;
    if seconds > 0 {
        *place = Some(Duration::from_secs(seconds.into()));
    }
    Ok(())
}

/// URLs that are separated by blanks or commas, as libldap takes them.
fn set_urls(settings: &mut ConnectSettings, value: &str) -> Result<(), WordError> {
    let words = value.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let urls = words.map(|word| {
        LdapUrl::parse(word).map_err(|error| WordError::Url {
            word: word.to_owned(),
            error,
        })
    });
    let urls: Vec<LdapUrl> = urls.collect::<Result<_, _>>()?;
    if urls.is_empty() {
        return Err(WordError::NoUrl);
    }
    settings.urls = urls;
    Ok(())
}

/// `idle:probes:interval`. An empty part and 0 leave the system's value.
fn keepalive(value: &str) -> Result<Keepalive, WordError> {
    let malformed = || WordError::Keepalive(value.to_owned());
    let parts: Vec<&str> = value.split(':').collect();
    let &[idle, probes, interval] = &parts[..] else {
        return Err(malformed());
    };
    let part = |text: &str| match text {
        "" => Ok(None),
        digits => number(digits)
            .map(|number| Some(number).filter(|number| *number > 0))
            .map_err(|_| malformed()),
    };
    let time = |text| part(text).map(|seconds| seconds.map(|seconds| Duration::from_secs(seconds.into())));
    Ok(Keepalive {
        idle: time(idle)?,
        probes: part(probes)?,
        interval: time(interval)?,
    })
}

/// `major[.minor]`.
fn protocol_version(value: &str) -> Result<(u8, u8), WordError> {
    let (major, minor) = value.split_once('.').unwrap_or((value, "0"));
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(WordError::ProtocolVersion(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[(&str, &str)]) -> Result<ConnectSettings, String> {
        let mut settings = ConnectSettings::default();
        for (keyword, value) in words {
            assert!(
                settings.set(keyword, value).map_err(|error| error.to_string())?,
                "{keyword}"
            );
        }
        Ok(settings)
    }

    #[test]
    fn all_words_for_a_certificate_that_must_be_good_are_read() {
        for word in ["demand", "hard", "true", "on", "YES"] {
            let read = settings(&[("provider", "ldaps://a.example"), ("tls_reqcert", word)]).unwrap();
            assert_eq!(read.tls.require_certificate, RequireCertificate::Demand, "{word}");
        }
    }

    #[test]
    fn a_word_for_tls_without_a_meaning_prevents_the_connection() {
        for (keyword, value) in [
            ("tls_reqcert", "maybe"),
            ("tls_reqsan", ""),
            ("tls_protocol_min", "TLSv1.2"),
        ] {
            let read = settings(&[(keyword, value)]).unwrap();
            assert_eq!(read.unusable.unwrap().0, keyword);
            assert_ne!(read.tls.require_certificate, RequireCertificate::Never);
        }
        let corrected = settings(&[("tls_reqcert", "maybe"), ("tls_reqcert", "never")]).unwrap();
        assert_eq!(corrected.unusable, None);
    }

    #[test]
    fn a_line_of_slapd_is_read() {
        let settings = settings(&[
            ("provider", "ldap://a.example:1389,ldaps://b.example ldapi:///"),
            ("bindmethod", "SASL"),
            ("authcID", "ann"),
            ("credentials", "secret"),
            ("secprops", "none"),
            ("starttls", "critical"),
            ("tls_reqcert", "hard"),
            ("tls_reqsan", "try"),
            ("tls_protocol_min", "3.4"),
            ("tls_crlcheck", "all"),
            ("keepalive", "60::10"),
            ("tcp-user-timeout", "1500"),
            ("network-timeout", "3"),
            ("timeout", "0"),
        ])
        .unwrap();
        assert_eq!(settings.urls.len(), 3);
        assert_eq!(settings.bind.method, BindMethod::Sasl);
        assert_eq!(settings.bind.authentication_id, "ann");
        assert!(!format!("{settings:?}").contains("secret"));
        assert_eq!(settings.start_tls, StartTls::Critical);
        assert_eq!(settings.tls.require_certificate, RequireCertificate::Demand);
        assert_eq!(settings.tls.protocol_min, (3, 4));
        assert_eq!(
            settings.socket.keepalive,
            Keepalive {
                idle: Some(Duration::from_mins(1)),
                probes: None,
                interval: Some(Duration::from_secs(10)),
            }
        );
        assert_eq!(settings.socket.user_timeout, Some(Duration::from_millis(1500)));
        assert_eq!(settings.connect_timeout, Some(Duration::from_secs(3)));
        assert_eq!(settings.operation_timeout, None);
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_name_of_its_setting() {
        for (keyword, value) in [
            ("uri", ""),
            ("uri", "http://a/"),
            ("version", "2"),
            ("bindmethod", "strong"),
            ("secprops", "strong"),
            ("timeout", "-1"),
            ("network-timeout", "soon"),
            ("keepalive", "1:2"),
            ("keepalive", "1:x:2"),
            ("tcp-user-timeout", "1s"),
            ("starttls", "perhaps"),
            ("tls_crlcheck", "some"),
        ] {
            let error = settings(&[(keyword, value)]).unwrap_err();
            assert!(error.starts_with(keyword), "{error}");
        }
        let mut settings = ConnectSettings::default();
        assert!(matches!(settings.set("rid", "1"), Ok(false)));
    }
}
