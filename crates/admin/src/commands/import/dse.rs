//! dse.ldif of 389 Directory Server.

use super::{
    dse_plugins,
    settings::{Base, ConfigEntry, Settings, limit},
};

/// Attributes of the global password policy, ours, and what holds without them. Each is taken if its switch is on.
const POLICY: &[(&str, &str, &str, Option<&str>)] = &[
    ("passwordMinLength", "pwdMinLength", "8", Some("passwordCheckSyntax")),
    ("passwordInHistory", "pwdInHistory", "6", Some("passwordHistory")),
    ("passwordMaxAge", "pwdMaxAge", "8640000", Some("passwordExp")),
    ("passwordWarning", "pwdExpireWarning", "86400", Some("passwordExp")),
    ("passwordGraceLimit", "pwdGraceAuthNLimit", "0", Some("passwordExp")),
    ("passwordMinAge", "pwdMinAge", "0", None),
    ("passwordMaxFailure", "pwdMaxFailure", "3", Some("passwordLockout")),
    (
        "passwordResetFailureCount",
        "pwdFailureCountInterval",
        "600",
        Some("passwordLockout"),
    ),
];

/// Reads the settings.
pub(super) fn settings(entries: &[ConfigEntry]) -> Settings {
    let mut settings = Settings::default();
    bases(entries, &mut settings);
    if let Some(server) = entries.iter().find(|entry| entry.dn == "cn=config") {
        global(server, &mut settings);
        policy(server, &mut settings);
    }
    let database = |entry: &&ConfigEntry| entry.dn.starts_with("cn=config,cn=ldbm database,");
    if let Some(candidates) = entries
        .iter()
        .find(database)
        .and_then(|entry| entry.number("nsslapd-lookthroughlimit"))
        && candidates > 0
    {
        settings.database.push(format!("sizelimit size.unchecked={candidates}"));
        settings.note(
            format!("nsslapd-lookthroughlimit: {candidates}"),
            "`sizelimit size.unchecked`",
        );
    }
    for plugin in entries.iter().filter(|entry| entry.is_on("nsslapd-pluginEnabled")) {
        dse_plugins::plugin(plugin, entries, &mut settings);
    }
    replication(entries, &mut settings);
    settings
}

fn bases(entries: &[ConfigEntry], settings: &mut Settings) {
    for backend in entries.iter().filter(|entry| entry.has_class("nsBackendInstance")) {
        let Some(suffix) = backend.one("nsslapd-suffix") else {
            continue;
        };
        if !backend.dn.contains("cn=ldbm database,") {
            settings.note(
                format!("database link of {suffix}"),
                "left out: `database ldap` serves instead",
            );
            continue;
        }
        let below = format!(",{}", backend.dn);
        let indexes = entries
            .iter()
            .filter(|entry| entry.has_class("nsIndex") && entry.dn.ends_with(&below));
        let indexes = indexes.filter_map(|index| {
            let kinds = index
                .all("nsIndexType")
                .filter_map(|kind| match kind.to_ascii_lowercase().as_str() {
                    "eq" => Some("eq"),
                    "pres" => Some("pres"),
                    "sub" => Some("sub"),
                    "approx" => Some("approx"),
                    _ => None,
                });
            Some((index.one("cn")?.to_owned(), kinds.collect::<Vec<_>>()))
        });
        settings.bases.push(Base {
            suffix: suffix.to_owned(),
            read_only: backend.is_on("nsslapd-readonly"),
            indexes: indexes.collect(),
        });
    }
}

fn global(server: &ConfigEntry, settings: &mut Settings) {
    for (theirs, ours) in [("nsslapd-sizelimit", "sizelimit"), ("nsslapd-timelimit", "timelimit")] {
        // Without a line 389 has 2000 entries and an hour.
        let default = if ours == "sizelimit" { 2_000 } else { 3_600 };
        let number = server.number(theirs).unwrap_or(default);
        settings.database.push(format!("{ours} {}", limit(number)));
        settings.note(format!("{theirs}: {number}"), format!("`{ours} {}`", limit(number)));
    }
    for (theirs, ours) in [
        ("nsslapd-idletimeout", "idletimeout"),
        ("nsslapd-maxbersize", "sockbuf_max_incoming_auth"),
        ("nsslapd-minssf", "security ssf="),
    ] {
        if let Some(number) = server.number(theirs).filter(|number| *number > 0) {
            let space = if ours.ends_with('=') { "" } else { " " };
            settings.global.push(format!("{ours}{space}{number}"));
            settings.note(format!("{theirs}: {number}"), format!("`{ours}{space}{number}`"));
        }
    }
    match server
        .one("nsslapd-allow-anonymous-access")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("off") => {
            settings.global.push("disallow bind_anon".to_owned());
            settings.note("nsslapd-allow-anonymous-access: off", "`disallow bind_anon`");
        }
        Some("rootdse") => settings.note(
            "nsslapd-allow-anonymous-access: rootdse",
            "the access rules let anonymous clients read the root DSE alone",
        ),
        _ => settings.note(
            "anonymous access is on",
            "the access rules let anonymous clients read the root DSE alone: widen them if the aci values did",
        ),
    }
    settings.takes_plain_passwords = !server.is_on("nsslapd-require-secure-binds");
    if settings.takes_plain_passwords {
        settings.note(
            "nsslapd-require-secure-binds: off",
            "passwords are taken without TLS too, as before; `security simple_bind=128` asks for TLS",
        );
    } else {
        settings.note("nsslapd-require-secure-binds: on", "`security simple_bind=128`");
    }
    if server.is_on("nsslapd-readonly") {
        settings.global.push("readonly on".to_owned());
        settings.note("nsslapd-readonly: on", "`readonly on`");
    }
    if server.is_on("nsslapd-security") {
        settings.note(
            "TLS with a certificate in an NSS database",
            "a new certificate; see \"What to do next\"",
        );
    }
    if let Some(root) = server.one("nsslapd-rootdn") {
        settings.note(
            format!("nsslapd-rootdn: {root}"),
            "a rootdn below the suffix, with a new password: see slapd.conf",
        );
    }
}

fn policy(server: &ConfigEntry, settings: &mut Settings) {
    for (theirs, ours, default, switch) in POLICY {
        if switch.is_none_or(|switch| server.is_on(switch)) {
            let value = server.one(theirs).unwrap_or(default);
            if value != "0" {
                settings.note(format!("{theirs}: {value}"), format!("`{ours}` of the default policy"));
                settings.policy.push((ours, value.to_owned()));
            }
        }
    }
    if server.is_on("passwordLockout") {
        let unlocks = server
            .one("passwordUnlock")
            .is_none_or(|value| !value.eq_ignore_ascii_case("off"));
        let duration = server.one("passwordLockoutDuration").unwrap_or("3600");
        let duration = if unlocks { duration } else { "0" };
        settings.policy.push(("pwdLockoutDuration", duration.to_owned()));
    }
    if server.is_on("passwordCheckSyntax") {
        settings.policy.push(("pwdCheckQuality", "1".to_owned()));
        settings.note(
            "passwordCheckSyntax: on",
            "pwdCheckQuality with pwdMinLength; kinds of characters: `ppolicy_quality_classes` and its like",
        );
    }
    if server.is_on("passwordMustChange") {
        settings.policy.push(("pwdMustChange", "TRUE".to_owned()));
    }
    if server
        .one("passwordChange")
        .is_some_and(|value| value.eq_ignore_ascii_case("off"))
    {
        settings.policy.push(("pwdAllowUserChange", "FALSE".to_owned()));
    }
    if server.is_on("nsslapd-pwpolicy-local") {
        settings.note(
            "password policies for parts of the tree",
            "not taken: write entries of class pwdPolicy, and `ppolicy_rules`",
        );
    }
}

fn replication(entries: &[ConfigEntry], settings: &mut Settings) {
    for entry in entries {
        let agreement = ["nsds5replicationagreement", "nsDSWindowsReplicationAgreement"];
        if agreement.iter().any(|class| entry.has_class(class)) {
            let host = entry.one("nsds5replicahost").unwrap_or("an unknown host");
            settings.note(
                format!("replication agreement with {host}"),
                "`syncrepl`: see docs/replication.md",
            );
        } else if entry.has_class("nsDS5Replica") {
            let root = entry.one("nsDS5ReplicaRoot").unwrap_or_default();
            settings.note(
                format!("replica of {root}"),
                "`overlay syncprov` and `syncrepl`: see docs/replication.md",
            );
        }
    }
}
