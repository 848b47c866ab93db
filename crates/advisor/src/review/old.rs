//! Old directives and old forms, and their successors.

use ironbark_config::Surveyed;

use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// Directives that were dropped before OpenLDAP 2.4.
const REMOVED: &[(&str, &str)] = &[
    (
        "schemacheck",
        "leave it out: entries are always checked against the schema",
    ),
    (
        "defaultaccess",
        "write it as the last access rule: access to * by * <access>",
    ),
    ("suffixAlias", "use alias entries, or one database for each suffix"),
    (
        "suffixMassage",
        "leave it out: names were rewritten by back-ldap, now by overlay rwm",
    ),
    ("srvtab", "leave it out: Kerberos takes its keys from the keytab"),
    ("sessionlog", "write overlay syncprov and syncprov-sessionlog"),
    (
        "dbcacheNoWsync",
        "leave it out, or write dbnosync if losing writes does not matter",
    ),
    ("ldapsyntaxes", "write ldapsyntax"),
    (
        "sasl-external-x509dn-convert",
        "leave it out: names of certificates are always converted",
    ),
];

/// Directives without meaning here that have a successor.
const SUCCEEDED: &[(&str, &str)] = &[
    ("replica", "configure syncrepl on the replica"),
    ("olcReplica", "configure syncrepl on the replica"),
    ("replogfile", "leave it out: syncrepl needs no file of changes"),
    ("olcReplogFile", "leave it out: syncrepl needs no file of changes"),
    ("replica-argsfile", "leave it out: there is no slurpd"),
    ("olcReplicaArgsFile", "leave it out: there is no slurpd"),
    ("replica-pidfile", "leave it out: there is no slurpd"),
    ("olcReplicaPidFile", "leave it out: there is no slurpd"),
    ("replicationInterval", "configure syncrepl on the replica"),
    ("olcReplicationInterval", "configure syncrepl on the replica"),
    ("ucdata-path", "leave it out"),
];

/// Old names of settings that still work.
const RENAMED: &[(&str, &str)] = &[
    ("sasl-regexp", "authz-regexp"),
    ("saslRegexp", "authz-regexp"),
    ("sasl-authz-policy", "authz-policy"),
    ("mirrormode", "multiprovider"),
    ("olcMirrorMode", "olcMultiProvider"),
    ("unique_base", "unique_uri"),
    ("unique_attributes", "unique_uri"),
    ("unique_ignore", "unique_uri ignore"),
    ("unique_strict", "unique_uri strict"),
    ("olcUniqueBase", "olcUniqueURI"),
    ("olcUniqueAttribute", "olcUniqueURI"),
    ("olcUniqueIgnore", "olcUniqueURI: ignore"),
    ("olcUniqueStrict", "olcUniqueURI: strict"),
];

fn of<'a>(table: &[(&str, &'a str)], keyword: &str) -> Option<&'a str> {
    let found = table.iter().find(|(name, _)| name.eq_ignore_ascii_case(keyword));
    found.map(|(_, instead)| *instead)
}

/// The successor of a directive that was removed.
pub(super) fn removed(keyword: &str) -> Option<&'static str> {
    of(REMOVED, keyword)
}

/// The successor of an accepted directive without meaning, if there is one.
pub(super) fn instead_of_meaningless(keyword: &str) -> Option<&'static str> {
    of(SUCCEEDED, keyword)
}

/// The new form for a statement that is refused because of its old form.
pub(super) fn wrong_form(statement: &Surveyed) -> Option<&'static str> {
    let is_access = statement.means("access");
    let has_old_pattern = || statement.line.arguments.iter().any(|word| is_old_pattern(word));
    (is_access && has_old_pattern()).then_some(
        "a dn= without a style is an exact name since OpenLDAP 2.2, and was a regular expression before: write * or users, dn.subtree= or dn.regex=",
    )
}

/// `dn=".*,dc=example,dc=com"`: in a name no asterisk follows a period.
fn is_old_pattern(word: &str) -> bool {
    let value = word.strip_prefix("dn=");
    value.is_some_and(|value| value.contains(".*") || value.contains(".+") || value.contains("[^,]"))
}

/// Adds the old forms among the accepted statements, and among those that are refused only because a part is missing.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    for statement in &written.statements {
        let Some((reason, advice)) = form(statement) else {
            continue;
        };
        let place = written.place(&statement.line.location);
        findings.note(FindingClass::Old, place, &statement.line.keyword, reason, advice);
    }
}

fn form(statement: &Surveyed) -> Option<(String, String)> {
    let line = &statement.line;
    if let Some(instead) = of(RENAMED, &line.keyword) {
        let stays = statement.why_meaningless().map_or("", |_| " if it is to stay");
        return Some(("an old name".to_owned(), format!("write {instead}{stays}")));
    }
    let argument = line.arguments.first().map(String::as_str).unwrap_or_default();
    match statement.row?.name() {
        "database" | "backend" if is_berkeley(argument) => Some((
            format!("OpenLDAP has dropped {argument} in 2.5; here it is mdb"),
            format!("write {} mdb", line.keyword),
        )),
        "moduleload" if is_berkeley(argument) => Some((
            format!("OpenLDAP has dropped {argument} in 2.5; here it is mdb"),
            "write back_mdb".to_owned(),
        )),
        "access" if statement.refusal.is_none() => trivial_pattern(&line.arguments),
        "TLSProtocolMin" => old_protocol(argument),
        "TLSCipherSuite" => old_ciphers(&line.arguments),
        _ => None,
    }
}

/// Whether a database type or a module is one of the Berkeley DB backends.
fn is_berkeley(argument: &str) -> bool {
    let name = ironbark_config::parts::module_name(argument);
    matches!(name.trim_start_matches("back-"), "hdb" | "bdb")
}

/// `dn.regex=.*`, where a keyword has the same meaning.
fn trivial_pattern(words: &[String]) -> Option<(String, String)> {
    words.iter().find_map(|word| {
        let pattern = word.strip_prefix("dn.regex=")?;
        let inner = pattern.strip_prefix('^').unwrap_or(pattern);
        let instead = match inner.strip_suffix('$').unwrap_or(inner) {
            ".*" => "*",
            ".+" | "*" => "users",
            "" => "anonymous",
            _ => return None,
        };
        Some((
            format!("{word} is an old form of {instead}"),
            format!("write {instead}, which costs no comparison"),
        ))
    })
}

/// Insecure versions of TLS: those before 1.2, which is 3.3 in the protocol.
fn old_protocol(argument: &str) -> Option<(String, String)> {
    let (major, minor) = argument.split_once('.').unwrap_or((argument, "0"));
    let version = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    ((1, 0)..(3, 3)).contains(&version).then(|| {
        (
            format!("{argument} means a version before TLS 1.2; RFC 8996 deprecates those, and Ironbark does not support them"),
            "write TLSProtocolMin 3.3 or leave it out".to_owned(),
        )
    })
}

/// Names of ciphers and protocols that no TLS library offers today.
fn old_ciphers(words: &[String]) -> Option<(String, String)> {
    const OLD: &[&str] = &[
        "SSLV2",
        "SSLV3",
        "EXPORT",
        "EXP",
        "LOW",
        "NULL",
        "ENULL",
        "ANULL",
        "ADH",
        "RC4",
        "DES",
        "MD5",
        "VERS-SSL3.0",
        "ARCFOUR-128",
    ];
    // A colon separates the words. A word without `!` or `-` before it is enabled.
    let asked = words.iter().flat_map(|word| word.split([':', ',', ' ']));
    let mut found: Vec<&str> = asked
        .filter(|cipher| !cipher.starts_with(['!', '-']))
        .flat_map(|cipher| cipher.split('+'))
        .filter(|name| OLD.contains(&name.to_ascii_uppercase().as_str()))
        .collect();
    found.dedup();
    (!found.is_empty()).then(|| {
        (
            format!("asks for {}, which is broken and no longer offered", found.join(", ")),
            "leave it out: the defaults are safe".to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_that_are_excluded_are_none_that_are_asked_for() {
        let found = |text: &str| old_ciphers(&[text.to_owned()]).is_some();
        assert!(found("HIGH:MEDIUM:+SSLv3") && found("RC4+RSA:HIGH") && found("ALL:LOW"));
        assert!(!found("HIGH:!SSLv3:-LOW:!aNULL") && !found("SECURE256:-VERS-SSL3.0") && !found(""));
    }

    #[test]
    fn versions_before_tls_1_2_are_old() {
        assert!(old_protocol("3.1").is_some() && old_protocol("3").is_some());
        assert!(old_protocol("3.3").is_none() && old_protocol("0.0").is_none() && old_protocol("x").is_none());
    }
}
