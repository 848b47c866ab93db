//! The slapd.conf of an imported directory.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use ironbark_model::Schema;

use super::{
    rules,
    settings::{Settings, quoted},
    source::Source,
    survey::{is_within, plain},
};
use crate::commands::init;

/// A database of the new directory.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) suffix: String,
    pub(super) read_only: bool,
    /// Whether it is glued into another one.
    pub(super) is_subordinate: bool,
    pub(super) indexes: BTreeMap<String, Vec<&'static str>>,
}

/// What the configuration is made of.
pub(super) struct Parts<'p> {
    pub(super) directory: &'p Path,
    pub(super) settings: &'p Settings,
    /// Subordinate databases before their superiors.
    pub(super) databases: &'p [Database],
    /// Hash of the administrator's password.
    pub(super) hash: &'p str,
    pub(super) administrator: &'p str,
    /// Overlays that the data needs, with their settings.
    pub(super) overlays: &'p [String],
    /// The default password policy, if there is one.
    pub(super) policy: Option<&'p str>,
}

/// Indexes that every directory has, as `ironbark init` makes them.
const USUAL: &[(&str, &[&str])] = &[
    ("objectClass", &["eq"]),
    ("uid", &["eq"]),
    ("mail", &["eq"]),
    ("cn", &["eq", "sub"]),
    ("sn", &["eq", "sub"]),
    ("givenName", &["eq", "sub"]),
    ("member", &["eq"]),
    ("entryUUID", &["eq"]),
];

/// The databases: subordinate ones first, and each with its indexes.
pub(super) fn databases(suffixes: &[String], settings: &Settings) -> Vec<Database> {
    let mut made: Vec<Database> = suffixes
        .iter()
        .map(|suffix| {
            let shown = plain(suffix);
            let is_above = |other: &&String| plain(other) != shown && is_within(&shown, &plain(other));
            let base = settings.bases.iter().find(|base| plain(&base.suffix) == shown);
            let mut indexes: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
            for (name, kinds) in USUAL {
                indexes.insert((*name).to_owned(), kinds.to_vec());
            }
            for (name, kinds) in base.iter().flat_map(|base| &base.indexes) {
                let known = indexes.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
                let found = indexes.entry(known.unwrap_or_else(|| name.clone())).or_default();
                let new = kinds
                    .iter()
                    .filter(|kind| !found.contains(kind))
                    .copied()
                    .collect::<Vec<_>>();
                found.extend(new);
            }
            Database {
                suffix: suffix.clone(),
                read_only: base.is_some_and(|base| base.read_only),
                is_subordinate: suffixes.iter().any(|other| is_above(&other)),
                indexes,
            }
        })
        .collect();
    made.sort_by_key(|database| std::cmp::Reverse(plain(&database.suffix).split(',').count()));
    made
}

/// Takes indexes away that the schema does not allow. Returns what was taken away.
pub(super) fn fit(source: Source, databases: &mut [Database], schema: &Schema) -> Vec<String> {
    let mut refused = Vec::new();
    for database in databases {
        database.indexes.retain(|name, kinds| {
            let found = schema.find_attribute_type(name.as_bytes());
            let Some(found) = found.filter(|_| !rules::leaves_out(source, name)) else {
                refused.push(name.clone());
                return false;
            };
            kinds.retain(|kind| match *kind {
                "eq" | "approx" => found.equality.is_some(),
                "sub" => found.substrings.is_some(),
                _ => true,
            });
            if kinds.is_empty() {
                refused.push(name.clone());
            }
            !kinds.is_empty()
        });
    }
    refused.sort();
    refused.dedup();
    refused
}

/// The text of slapd.conf.
pub(super) fn configuration(parts: &Parts<'_>, schema_files: &[&str]) -> Result<String, String> {
    let path = |name: &str| {
        let path = parts.directory.join(name);
        let text = path.to_str().map(quoted);
        text.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))
    };
    let mut text = "# Made by `ironbark import`; report.md says what was taken over.\n".to_owned();
    for name in schema_files {
        let _ = writeln!(text, "include {}", path(&format!("schema/{name}"))?);
    }
    let _ = write!(
        text,
        "pidfile {}\nargsfile {}\npassword-hash {{ARGON2}}\nsighup reload\n\n\
         TLSCertificateFile {}\nTLSCertificateKeyFile {}\nlocalSSF 128\nsasl-mechanisms EXTERNAL PLAIN\n",
        path("slapd.pid")?,
        path("slapd.args")?,
        path("tls/server.crt")?,
        path("tls/server.key")?
    );
    if !parts.settings.takes_plain_passwords {
        text.push_str("# Passwords are accepted only over TLS (StartTLS, ldaps://) and the local socket.\n");
        text.push_str("security simple_bind=128\n");
    }
    text.push_str("connection-limit 200\nbind-failure-limit 20/60\n");
    for line in &parts.settings.global {
        let _ = writeln!(text, "{line}");
    }
    text.push_str("\naccess to dn.base=\"\"\n  by * read\n");
    for (number, database) in parts.databases.iter().enumerate() {
        let folder = if parts.databases.len() == 1 {
            "data".to_owned()
        } else {
            format!("data/{number}")
        };
        self::database(&mut text, parts, database, &path(&folder)?);
    }
    text.push('\n');
    text.push_str(&init::monitor(&quoted(parts.administrator)));
    Ok(text)
}

fn database(text: &mut String, parts: &Parts<'_>, database: &Database, folder: &str) {
    let _ = write!(
        text,
        "\ndatabase mdb\nsuffix {}\nrootdn {}\ndirectory {folder}\n",
        quoted(&database.suffix),
        quoted(parts.administrator)
    );
    let administrator = plain(parts.administrator);
    if administrator
        .split_once(',')
        .is_some_and(|(_, above)| above == plain(&database.suffix))
    {
        let _ = writeln!(text, "rootpw {}", quoted(parts.hash));
    }
    if database.is_subordinate {
        text.push_str("subordinate\n");
    }
    if database.read_only {
        text.push_str("readonly on\n");
    }
    for line in &parts.settings.database {
        let _ = writeln!(text, "{line}");
    }
    for (name, kinds) in &database.indexes {
        let _ = writeln!(text, "index {name} {}", kinds.join(","));
    }
    text.push_str(
        "\n# Passwords are compared, never shown; people may change their own.\n\
         access to attrs=userPassword\n  by self =xw\n  by anonymous auth\n  by * none\n\
         access to attrs=pwdHistory\n  by * none\n\
         # All else is for those who have authenticated.\naccess to *\n  by users read\n  by * none\n",
    );
    let shown = plain(&database.suffix);
    let is_here = |base: &String| is_within(&plain(base), &shown);
    let taken = parts.settings.overlays.iter();
    let taken = taken.filter(|overlay| overlay.base.as_ref().is_none_or(is_here));
    for overlay in parts.overlays.iter().chain(taken.map(|overlay| &overlay.text)) {
        let _ = writeln!(text, "\n{overlay}");
    }
    text.push_str("\noverlay ppolicy\nppolicy_hash_cleartext\n");
    if let Some(policy) = parts.policy {
        let _ = writeln!(text, "ppolicy_default {}", quoted(policy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subordinate_databases_stand_before_their_superiors() {
        let suffixes = ["dc=a".to_owned(), "ou=x,dc=a".to_owned(), "o=b".to_owned()];
        let made = databases(&suffixes, &Settings::default());
        let shown: Vec<_> = made
            .iter()
            .map(|one| (one.suffix.as_str(), one.is_subordinate))
            .collect();
        assert_eq!(shown, [("ou=x,dc=a", true), ("dc=a", false), ("o=b", false)]);
    }
}
