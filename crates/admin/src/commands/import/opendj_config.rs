//! config.ldif of OpenDJ.

use super::settings::{Base, ConfigEntry, Settings, limit};

/// Reads the settings.
pub(super) fn settings(entries: &[ConfigEntry]) -> Settings {
    let mut settings = Settings {
        takes_plain_passwords: true,
        ..Settings::default()
    };
    for backend in entries.iter().filter(|entry| is_data(entry)) {
        let below = format!(",{}", backend.dn);
        let indexes = entries
            .iter()
            .filter(|entry| entry.dn.ends_with(&below) && entry.one("ds-cfg-attribute").is_some());
        let indexes: Vec<_> = indexes.filter_map(index).collect();
        for suffix in backend.all("ds-cfg-base-dn") {
            settings.bases.push(Base {
                suffix: suffix.to_owned(),
                read_only: backend.one("ds-cfg-writability-mode") == Some("disabled"),
                indexes: indexes.clone(),
            });
        }
    }
    if let Some(server) = entries.iter().find(|entry| entry.dn == "cn=config") {
        for (theirs, ours) in [("ds-cfg-size-limit", "sizelimit"), ("ds-cfg-time-limit", "timelimit")] {
            if let Some(number) = server.number(theirs) {
                settings.database.push(format!("{ours} {}", limit(number)));
                settings.note(format!("{theirs}: {number}"), format!("`{ours} {}`", limit(number)));
            }
        }
        if let Some(number) = server.number("ds-cfg-lookthrough-limit").filter(|number| *number > 0) {
            settings.database.push(format!("sizelimit size.unchecked={number}"));
            settings.note(
                format!("ds-cfg-lookthrough-limit: {number}"),
                "`sizelimit size.unchecked`",
            );
        }
        if let Some(number) = server.number("ds-cfg-idle-time-limit").filter(|number| *number > 0) {
            settings.global.push(format!("idletimeout {number}"));
            settings.note(
                format!("ds-cfg-idle-time-limit: {number}"),
                format!("`idletimeout {number}`"),
            );
        }
        if server.is_on("ds-cfg-reject-unauthenticated-requests") {
            settings.global.push("disallow bind_anon".to_owned());
            settings.note("ds-cfg-reject-unauthenticated-requests: true", "`disallow bind_anon`");
        }
    }
    for entry in entries
        .iter()
        .filter(|entry| entry.one("ds-cfg-replication-server").is_some())
    {
        settings.note(
            format!("replication of {}", entry.dn),
            "`syncrepl`: see docs/replication.md",
        );
    }
    for entry in entries.iter().filter(|entry| entry.has_class("ds-cfg-password-policy")) {
        settings.note(
            format!("password policy {}", entry.dn),
            "not taken: write an entry of class pwdPolicy",
        );
    }
    settings
}

/// Whether the entry is a backend with data of users.
fn is_data(entry: &ConfigEntry) -> bool {
    let classes = [
        "ds-cfg-local-db-backend",
        "ds-cfg-je-backend",
        "ds-cfg-pdb-backend",
        "ds-cfg-pluggable-backend",
    ];
    classes.iter().any(|class| entry.has_class(class)) && entry.one("ds-cfg-enabled") != Some("false")
}

fn index(entry: &ConfigEntry) -> Option<(String, Vec<&'static str>)> {
    let kinds = entry.all("ds-cfg-index-type").filter_map(|kind| match kind {
        "equality" | "ordering" => Some("eq"),
        "presence" => Some("pres"),
        "substring" => Some("sub"),
        "approximate" => Some("approx"),
        _ => None,
    });
    let mut all: Vec<&'static str> = Vec::new();
    for kind in kinds {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    Some((entry.one("ds-cfg-attribute")?.to_owned(), all))
}
