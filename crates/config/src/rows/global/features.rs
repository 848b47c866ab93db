//! Permissions of clients, and defaults: features, passwords, referrals, search base.

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    global::features::{Allow, Disallow, MAX_FILTER_DEPTH},
    rows::fields::global_field,
    setting::{
        Form, Handler, Setting,
        SettingLevel::{BeforeDatabases, Global},
    },
    statement::Statement,
    value::{Value, parse_referral},
};

/// Schemes that `password-hash` may name: the storage of new passwords.
const PASSWORD_SCHEMES: &[&str] = &[
    "{SSHA}",
    "{SHA}",
    "{SMD5}",
    "{MD5}",
    "{CRYPT}",
    "{CLEARTEXT}",
    "{SHA256}",
    "{SSHA256}",
    "{SHA384}",
    "{SSHA384}",
    "{SHA512}",
    "{SSHA512}",
    "{PBKDF2}",
    "{PBKDF2-SHA1}",
    "{PBKDF2-SHA256}",
    "{PBKDF2-SHA512}",
    "{ARGON2}",
    "{SCRAM-SHA-1}",
    "{SCRAM-SHA-256}",
    "{SCRAM-SHA-512}",
    "{APR1}",
    "{BSDMD5}",
    "{TOTP1}",
    "{TOTP256}",
    "{TOTP512}",
    "{TOTP1ANDPW}",
    "{TOTP256ANDPW}",
    "{TOTP512ANDPW}",
];

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(BeforeDatabases, &["allow", "allow*"], &["olcAllows"])
        .olc("0.2", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(30)])
        .takes("<feature> ...", "")
        .does(
            "Turns on features that are off by default: `bind_v2` (LDAPv2 binds), `bind_anon_cred` (an empty name with \
             a password is anonymous), `bind_anon_dn` (a name with an empty password is anonymous), `update_anon`, \
             `proxy_authz_anon`.",
        )
        .like(&["bind_v2 bind_anon_dn"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                for word in statement.some()? {
                    let feature = Allow::word(word).ok_or_else(|| format!("unknown feature \"{word}\""))?;
                    config.allow = config.allow.with(feature);
                }
                Ok(())
            },
            get: |config, _| owned(&config.allow.words()),
        }),
    Setting::new(BeforeDatabases, &["disallow", "disallow*"], &["olcDisallows"])
        .olc("0.15", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(120)])
        .takes("<feature> ...", "")
        .does(
            "Turns off features that are on by default: `bind_anon`, `bind_simple`, `tls_2_anon`, `tls_authc`, \
             `proxy_authz_non_critical`, `dontusecopy_non_critical`.",
        )
        .like(&["bind_anon bind_simple"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                for word in statement.some()? {
                    let feature = Disallow::word(word).ok_or_else(|| format!("unknown feature \"{word}\""))?;
                    config.disallow = config.disallow.with(feature);
                }
                Ok(())
            },
            get: |config, _| owned(&config.disallow.words()),
        }),
    Setting::new(BeforeDatabases, &["defaultSearchBase"], &["olcDefaultSearchBase"])
        .olc("0.14", Form::Name)
        .allowed_by(&[ConfigClass::Frontend.at(10)])
        .takes("<dn>", "")
        .does("Sets the search base of searches that have an empty base and are not of scope base.")
        .like(&["dc=example,dc=com"])
        .whole()
        .obeyed(global_field!(default_search_base)),
    Setting::new(Global, &["referral"], &["olcReferral"])
        .olc("0.41", Form::Url)
        .allowed_by(&[ConfigClass::Global.at(380)])
        .takes("<url>", "")
        .does(
            "Sets the LDAP URL that clients get when no database holds the requested entry. The line may be repeated.",
        )
        .like(&["ldap://root.example.com/"])
        .whole()
        .obeyed(Handler::Global {
            set: set_referral,
            get: |config, _| config.referrals.clone(),
        }),
    Setting::new(Global, &["password-hash"], &["olcPasswordHash"])
        .olc("0.36", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(340), ConfigClass::Frontend.at(20)])
        .takes("<scheme> ...", "{SSHA}")
        .does(
            "Names the schemes in which the password modify operation stores a new password: `{SSHA}`, `{SHA}`, \
             `{SMD5}`, `{MD5}`, `{CRYPT}`, `{CLEARTEXT}`, `{SSHA256}`, `{SSHA384}`, `{SSHA512}` and those without \
             salt, `{PBKDF2}` with its variants, `{ARGON2}`, `{SCRAM-SHA-1}`, `{SCRAM-SHA-256}`, `{SCRAM-SHA-512}`, \
             `{APR1}`, `{BSDMD5}`, and those of overlay totp. Passwords in add and modify requests are stored as they come.",
        )
        .like(&["{SSHA512} {CRYPT}"])
        .obeyed(Handler::Global {
            set: set_password_hash,
            get: |config, _| vec![config.password_hash.join(" ")],
        }),
    Setting::new(Global, &["password-crypt-salt-format"], &["olcPasswordCryptSaltFormat"])
        .olc("0.35", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(330)])
        .takes("<format>", "%s")
        .does(
            "Sets the form of the salt of new `{CRYPT}` passwords. One `%s`, or `%.8s` for eight characters, stands \
             for random characters. `$6$%.16s` makes SHA-512 crypt.",
        )
        .like(&["$6$%.16s"])
        .whole()
        .obeyed(Handler::Global {
            set: set_salt_format,
            get: |config, _| vec![config.crypt_salt_format.clone()],
        }),
    Setting::new(Global, &["sortvals"], &["olcSortVals"])
        .olc("0.83", Form::Texts)
        .allowed_by(&[ConfigClass::Frontend.at(30)])
        .takes("<attribute> ...", "")
        .does("Names attributes whose values slapd keeps sorted, to find one among many.")
        .since("2.4")
        .meaningless("big value sets are found by hash, and values stay in the order in which they were added"),
    Setting::new(Global, &["maxFilterDepth"], &["olcMaxFilterDepth"])
        .olc("0.101", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(280)])
        .shown()
        .takes("<depth>", "1000")
        .does("Limits how deep the filter of a search may nest, to 4096 at most.")
        .since("2.5")
        .like(&["200"])
        .obeyed(Handler::Global {
            set: set_max_filter_depth,
            get: |config, _| config.max_filter_depth.text(),
        }),
    Setting::new(Global, &["plugin"], &["olcPlugin"])
        .olc("0.38", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(120)])
        .takes("<type> <library> <function> [<argument> ...]", "")
        .does("Loads a SLAPI plug-in.")
        .refused("the interface for SLAPI plug-ins"),
    Setting::new(Global, &["pluginlog"], &["olcPluginLogFile"])
        .olc("0.39", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(360)])
        .takes("<file>", "")
        .does("Names the log file of SLAPI plug-ins.")
        .whole()
        .meaningless("there are no SLAPI plug-ins that could write to it"),
];

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn set_referral(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    config.referrals.push(parse_referral(statement)?);
    Ok(())
}

fn set_max_filter_depth(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let depth = u32::parse(statement)?;
    if depth > MAX_FILTER_DEPTH {
        return Err(format!("{depth} is too deep: the maximum is {MAX_FILTER_DEPTH}").into());
    }
    config.max_filter_depth = depth;
    Ok(())
}

fn set_password_hash(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let schemes = statement.some()?;
    for scheme in schemes {
        if !PASSWORD_SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err(format!("scheme \"{scheme}\" is not available").into());
        }
    }
    config.password_hash = schemes.to_vec();
    Ok(())
}

fn set_salt_format(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let format = statement.one()?;
    let mut conversions = format.split('%').skip(1);
    let is_conversion = |text: &str| {
        let digits = text.strip_prefix('.').unwrap_or("");
        let rest = digits.trim_start_matches(|character: char| character.is_ascii_digit());
        text.starts_with('s') || (digits.len() > rest.len() && rest.starts_with('s'))
    };
    if !conversions.next().is_some_and(is_conversion) || conversions.next().is_some() {
        return Err(format!("\"{format}\" must hold one %s and no other conversion").into());
    }
    format.clone_into(&mut config.crypt_salt_format);
    Ok(())
}
