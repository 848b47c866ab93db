//! SASL: mechanisms, mappings from names to DNs, and permissions to act for others.

use ironbark_model::PosixRegex;
use std::fmt::Write as _;

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    global::sasl::{
        AuthzPolicy, AuthzRegexp, ChannelBinding, MAX_BUFFER, MAX_SSF, SaslMechanisms, SecurityFlags,
        SecurityProperties,
    },
    reader::quoted_after,
    rows::fields::global_field,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    statement::Statement,
    value::parse_u32,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["authid-rewrite", "authid-rewrite*"], &["olcAuthIDRewrite"])
        .olc("0.6", Form::Ordered)
        .allowed_by(&[ConfigClass::Global.at(60)])
        .takes("<argument> ...", "")
        .does("Rewrites SASL user names into DNs. `authz-regexp` covers the usual cases.")
        .since("2.3")
        .refused("the rewriting of SASL names by librewrite"),
    Setting::new(Global, &["authz-policy", "sasl-authz-policy"], &["olcAuthzPolicy"])
        .olc("0.7", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(70)])
        .shown()
        .takes("none|from|to|any|all", "none")
        .does(
            "Says whose rules let a client act for another identity, by the proxied authorization control or an \
             authorization identity of SASL. `from`: `authzFrom` of the identity that is assumed. `to`: `authzTo` of \
             the client. `any` (`both`): one of the two. `all`: both. The rootdn of a database may act for every name \
             in the database. Every client may act for the anonymous identity.",
        )
        .since("2.2")
        .like(&["to", "any"])
        .whole()
        .obeyed(Handler::Global {
            set: |config, statement| {
                let word = statement.one()?;
                let known = POLICIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
                let (_, policy) = known.ok_or_else(|| format!("unable to parse value \"{word}\""))?;
                config.sasl.authz_policy = *policy;
                Ok(())
            },
            get: |config, _| {
                let known = POLICIES.iter().find(|(_, policy)| *policy == config.sasl.authz_policy);
                known.map(|(name, _)| (*name).to_owned()).into_iter().collect()
            },
        }),
    Setting::new(
        Global,
        &["authz-regexp", "sasl-regexp", "saslRegexp"],
        &["olcAuthzRegexp"],
    )
    .olc("0.8", Form::Ordered)
    .allowed_by(&[ConfigClass::Global.at(80)])
    .takes("<pattern> <replacement>", "")
    .does(
        "Turns the name of a SASL client, `uid=<user>[,cn=<realm>],cn=<mechanism>,cn=auth` in lower case, or an \
             authorization identity into a DN. The first pattern (POSIX extended) that matches the name decides. `$1` \
             to `$9` in the replacement are its submatches. A replacement that is an LDAP URL, \
             `ldap:///<base>??<scope>?<filter>`, is a search that must find exactly one entry; the access rules must \
             grant `auth` on the attributes that the filter names. In a filter, submatches stand for themselves, \
             whatever characters they have. For proxied authorization, a search that reads more than 50,000 entries \
             ends with adminLimitExceeded: its filter needs an index. A name that no pattern matches stays unchanged.",
    )
    .since("2.2")
    .like(&["^uid=([^,]+),cn=[^,]+,cn=auth$ uid=$1,ou=people,dc=example,dc=com"])
    .obeyed(Handler::Global {
        set: |config, statement| {
            let [pattern, replacement] = statement.arguments else {
                return Err(format!("{} expected", statement.grammar).into());
            };
            let pattern = PosixRegex::new(pattern).map_err(|error| format!("\"{pattern}\": {error}"))?;
            statement.notice_lost_escape(0);
            config.sasl.authz_regexps.push(AuthzRegexp {
                pattern,
                replacement: replacement.clone(),
            });
            Ok(())
        },
        get: |config, _| {
            let rows = config.sasl.authz_regexps.iter();
            rows.map(|row| {
                format!(
                    "{} {}",
                    quoted_after("", row.pattern.as_str()),
                    quoted_after("", &row.replacement)
                )
            })
            .collect()
        },
    }),
    Setting::new(Global, &["sasl-auxprops"], &["olcSaslAuxprops"])
        .olc("0.89", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(440)])
        .takes("<plug-in> ...", "")
        .does(
            "Names the plug-ins that look up SASL secrets. There is only `slapd`, which looks them up in the \
             directory, also where other plug-ins are named; the log says so.",
        )
        .since("2.4")
        .like(&["slapd"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                let words = statement.some()?;
                if words.iter().any(|word| !word.eq_ignore_ascii_case("slapd")) {
                    statement.notice("secrets are looked up only in the directory");
                }
                config.sasl.auxprops = Some(words.join(" "));
                Ok(())
            },
            get: |config, _| config.sasl.auxprops.clone().into_iter().collect(),
        }),
    Setting::new(Global, &["sasl-auxprops-dontusecopy"], &["olcSaslAuxpropsDontUseCopy"])
        .olc("0.91", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(450)])
        .takes("<attribute> ...", "")
        .does("Names SASL secrets that must be read from the provider.")
        .since("2.4")
        .meaningless(NO_COPY),
    Setting::new(
        Global,
        &["sasl-auxprops-dontusecopy-ignore"],
        &["olcSaslAuxpropsDontUseCopyIgnore"],
    )
    .olc("0.92", Form::Boolean)
    .allowed_by(&[ConfigClass::Global.at(460)])
    .shown()
    .takes("on|off", "FALSE")
    .does("Reads such secrets locally when the provider is away.")
    .since("2.4")
    .meaningless(NO_COPY),
    Setting::new(Global, &["sasl-cbinding"], &["olcSaslCBinding"])
        .olc("0.100", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(470)])
        .takes("none|tls-endpoint", "none")
        .does(
            "Chooses the channel binding of SASL mechanisms. With `tls-endpoint`, SCRAM-SHA-*-PLUS is offered under \
             TLS and binds the client to the server's certificate (tls-server-end-point) or to the connection \
             (tls-exporter). `tls-unique` is refused, because TLS 1.3 does not have it.",
        )
        .since("2.5")
        .like(&["tls-endpoint"])
        .whole()
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.sasl.channel_binding = match statement.one()?.to_ascii_lowercase().as_str() {
                    "none" => ChannelBinding::None,
                    "tls-endpoint" => ChannelBinding::TlsEndpoint,
                    "tls-unique" => return Err("tls-unique is not supported; tls-endpoint is".into()),
                    other => return Err(format!("invalid value \"{other}\": none or tls-endpoint expected").into()),
                };
                Ok(())
            },
            get: |config, _| match config.sasl.channel_binding {
                ChannelBinding::None => vec!["none".to_owned()],
                ChannelBinding::TlsEndpoint => vec!["tls-endpoint".to_owned()],
            },
        }),
    Setting::new(Global, &["sasl-host"], &["olcSaslHost"])
        .olc("0.53", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(480)])
        .takes("<name>", "")
        .does(
            "Sets the host name that SASL mechanisms use, the machine's name by default. CRAM-MD5 and DIGEST-MD5 show \
             it. Without `sasl-realm` it is the realm of DIGEST-MD5.",
        )
        .like(&["ldap.example.com"])
        .whole()
        .obeyed(global_field!(sasl.host)),
    Setting::new(Global, &["sasl-mechanisms"], &["olcSaslMechanisms"])
        .olc("+24", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(490)])
        .takes("<mechanism> ...", "")
        .does("Names the SASL mechanisms that may be offered. Without this line all may be, within `sasl-secprops`.")
        .since(OWN)
        .like(&["EXTERNAL PLAIN", "SCRAM-SHA-256-PLUS SCRAM-SHA-256 EXTERNAL"])
        .obeyed(Handler::Global {
            set: set_mechanisms,
            get: |config, _| {
                config
                    .sasl
                    .mechanisms
                    .map(|set| set.words().join(" "))
                    .into_iter()
                    .collect()
            },
        }),
    Setting::new(Global, &["sasl-realm"], &["olcSaslRealm"])
        .olc("0.54", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(500)])
        .takes("<realm>", "")
        .does("Sets the SASL realm, which is part of the names that `authz-regexp` sees.")
        .like(&["EXAMPLE.COM"])
        .whole()
        .obeyed(global_field!(sasl.realm)),
    Setting::new(Global, &["sasl-secprops"], &["olcSaslSecProps"])
        .olc("0.56", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(510)])
        .shown()
        .takes("<property>[,...]", "noplain,noanonymous")
        .does(
            "Sets the conditions for offering a SASL mechanism: `none`, `noplain` (no PLAIN and LOGIN, except on a \
             connection that TLS or ldapi:// protects), `noanonymous` (no ANONYMOUS), `nodict` (only EXTERNAL and \
             ANONYMOUS), `noactive` (only SCRAM and GSSAPI), `passcred` (only PLAIN, LOGIN and GSSAPI), `forwardsec` \
             (no mechanism), `minssf=<n>` (the least strength of the connection, or of a security layer of GSSAPI), \
             `maxssf=<n>` (the greatest strength of such a layer, beside that of the connection) and `maxbufsize=<n>` \
             (the longest packet of such a layer). GSSAPI is available if the server was built with it; its encryption \
             by AES or Camellia counts as 128, whatever the length of the key, and any other as 56. Words without a \
             number replace the default words.",
        )
        .like(&["none", "noplain,noanonymous,minssf=56"])
        .obeyed(Handler::Global {
            set: set_properties,
            get: |config, _| vec![properties_text(&config.sasl.properties)],
        }),
];

const NO_COPY: &str = "SASL secrets are read where they are";

/// The first name of a policy is the one printed.
const POLICIES: [(&str, AuthzPolicy); 6] = [
    ("none", AuthzPolicy::None),
    ("from", AuthzPolicy::From),
    ("to", AuthzPolicy::To),
    ("any", AuthzPolicy::Any),
    ("both", AuthzPolicy::Any),
    ("all", AuthzPolicy::All),
];

fn set_properties(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let invalid = || SettingError::from("Invalid security properties");
    let properties = &mut config.sasl.properties;
    let (mut flags, mut has_flags) = (SecurityFlags::default(), false);
    for word in statement.one()?.split(',').filter(|word| !word.is_empty()) {
        let number = |value: &str| parse_u32(value).filter(|value| *value <= MAX_SSF).ok_or_else(invalid);
        match word.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("minssf") => properties.min_ssf = number(value)?,
            Some((name, value)) if name.eq_ignore_ascii_case("maxssf") => properties.max_ssf = number(value)?,
            Some((name, value)) if name.eq_ignore_ascii_case("maxbufsize") => properties.max_buffer = number(value)?,
            Some(_) => return Err(invalid()),
            None => {
                has_flags = true;
                if !word.eq_ignore_ascii_case("none") {
                    flags = flags.with(SecurityFlags::word(word).ok_or_else(invalid)?);
                }
            }
        }
    }
    if has_flags {
        properties.flags = flags;
    }
    Ok(())
}

fn set_mechanisms(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let mut set = SaslMechanisms::default();
    for name in statement.some()? {
        let known = SaslMechanisms::word(name);
        set = set.with(known.ok_or_else(|| format!("there is no SASL mechanism \"{name}\""))?);
    }
    config.sasl.mechanisms = Some(set);
    Ok(())
}

fn properties_text(properties: &SecurityProperties) -> String {
    let words = properties.flags.words();
    let mut text = if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(",")
    };
    let numbers = [
        ("minssf", properties.min_ssf, 0),
        ("maxssf", properties.max_ssf, MAX_SSF),
        ("maxbufsize", properties.max_buffer, MAX_BUFFER),
    ];
    for (name, value, default) in numbers {
        if value != default {
            // Writing to a string cannot fail.
            let _ = write!(text, ",{name}={value}");
        }
    }
    text
}
