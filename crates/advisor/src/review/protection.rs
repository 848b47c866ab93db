//! Dangers for data or service besides passwords: files, flushing, dangerous rights of clients.

use std::path::Path;

use ironbark_config::{
    Allow, DatabaseConfig, Disallow, EnvironmentFlags, Fate,
    limits::{HardLimit, LimitsSelector, SearchLimits},
};

use super::secrets::{is_enterable_by_others, is_readable_by_others};
use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// Features of `allow` and why they are dangerous.
const ALLOWED: &[(Allow, &str, &str)] = &[
    (
        Allow::BIND_V2,
        "bind_v2",
        "LDAPv2, historic since RFC 3494, has no StartTLS, so passwords cross the network in clear",
    ),
    (
        Allow::BIND_ANON_CRED,
        "bind_anon_cred",
        "a bind without a name succeeds whatever the password: programs that check passwords by a bind take it for success",
    ),
    (
        Allow::BIND_ANON_DN,
        "bind_anon_dn",
        "a bind without a password succeeds for every name: programs that check passwords by a bind let everybody in",
    ),
    (
        Allow::UPDATE_ANON,
        "update_anon",
        "clients that have not authenticated may write, as far as access rules let them",
    ),
    (
        Allow::PROXY_AUTHZ_ANON,
        "proxy_authz_anon",
        "clients that have not authenticated may ask to act as another identity",
    ),
];

/// Adds the dangers for data and service. `listeners`: the URLs of the server, if they are known.
pub(super) fn find(written: &WrittenConfiguration, listeners: Option<&str>, findings: &mut Findings) {
    allowed(written, findings);
    flushing(written, findings);
    files(written, findings);
    client_certificates(written, findings);
    encryption(written, listeners, findings);
}

fn allowed(written: &WrittenConfiguration, findings: &mut Findings) {
    for statement in written.accepted("allow") {
        for (_, word, reason) in ALLOWED {
            if statement
                .line
                .arguments
                .iter()
                .any(|argument| argument.eq_ignore_ascii_case(word))
            {
                let place = written.place(&statement.line.location);
                let advice = format!("leave {word} out");
                findings.note(
                    FindingClass::Unsafe,
                    place,
                    &statement.line.keyword,
                    format!("{word}: {reason}"),
                    advice,
                );
            }
        }
    }
}

/// Settings under which a crash loses writes or damages the database.
fn flushing(written: &WrittenConfiguration, findings: &mut Findings) {
    for (position, database) in stored(written) {
        let flags = database.mdb.flags;
        for statement in written
            .of_database(position)
            .filter(|statement| statement.refusal.is_none())
        {
            let is_row = |name| statement.means(name);
            let has = |word: &str| {
                let mut words = statement.line.arguments.iter();
                is_row("envflags") && words.any(|argument| argument.eq_ignore_ascii_case(word))
            };
            let keyword = &statement.line.keyword;
            let place = || written.place(&statement.line.location);
            if has("writemap") {
                let reason = "writemap: the server never writes through a map, because a full disk would then end it";
                findings.note(
                    FindingClass::Ignored,
                    place(),
                    keyword,
                    reason.to_owned(),
                    "it may be left out",
                );
            }
            let is_unflushed =
                is_row("dbnosync") && flags.contains(EnvironmentFlags::NO_SYNC) || has("nosync") || has("mapasync");
            let is_about_flushes = is_unflushed || has("nometasync") || is_row("checkpoint");
            let (class, reason, advice) = if database.cluster.is_some() && is_about_flushes {
                let reason = "a database of a cluster has checkpoints of its own: a crash of the machine takes nothing";
                (FindingClass::Ignored, reason, "it may be left out")
            } else if is_unflushed {
                let reason = "commits are acknowledged before they are on disk: a crash of the machine may damage the database beyond repair";
                (
                    FindingClass::Unsafe,
                    reason,
                    "leave it out: writes that wait share one flush",
                )
            } else if has("nometasync") {
                let reason = "a crash of the machine may take back the last writes that were acknowledged";
                (FindingClass::Unsafe, reason, "leave nometasync out")
            } else if is_row("checkpoint") && !flags.contains(EnvironmentFlags::NO_SYNC) {
                let reason = "without dbnosync every commit is flushed, and there is nothing to checkpoint";
                (FindingClass::Ignored, reason, "it may be left out")
            } else {
                continue;
            };
            findings.note(class, place(), keyword, reason.to_owned(), advice);
        }
    }
}

/// Databases that every user of the machine may read.
fn files(written: &WrittenConfiguration, findings: &mut Findings) {
    for (position, database) in stored(written) {
        let named = |name: &str| {
            let mut own = written.of_database(position);
            own.find(|statement| statement.means(name))
        };
        let place_of = |name: &str| {
            named(name).map_or_else(
                || written.database(position),
                |statement| written.place(&statement.line.location),
            )
        };
        let directory = &database.directory;
        let file = directory.join("data.mdb");
        if is_readable_by_others(&file) {
            let reason = format!(
                "every user of the machine may read {}, passwords included",
                file.display()
            );
            let advice = format!("run chmod o-rwx {}", file.display());
            findings.note(
                FindingClass::Unsafe,
                place_of("directory"),
                written.name("directory"),
                reason,
                advice,
            );
        } else if database.mdb.mode & 0o004 != 0 && !file.exists() && is_enterable_by_others(directory) {
            let reason = format!(
                "every user of the machine will read the files that are made in {}",
                directory.display()
            );
            findings.note(
                FindingClass::Unsafe,
                place_of("mode"),
                written.name("mode"),
                reason,
                "write 0600",
            );
        }
        // slapd accepts this. A user who may write here can replace the database.
        if is_writable_by_others(directory) {
            let reason = format!("every user of the machine may put files into {}", directory.display());
            let advice = format!("run chmod o-w {}", directory.display());
            findings.note(
                FindingClass::Unsafe,
                place_of("directory"),
                written.name("directory"),
                reason,
                advice,
            );
        }
    }
}

fn is_writable_by_others(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(folder).map(|metadata| metadata.permissions().mode());
    mode.is_ok_and(|mode| mode & 0o002 != 0) && is_enterable_by_others(folder)
}

/// The stored databases that are served.
fn stored(written: &WrittenConfiguration) -> impl Iterator<Item = (usize, &DatabaseConfig)> {
    let all = written.configuration.databases.iter().enumerate();
    all.filter(|(_, database)| database.kind.has_indexes() && !database.disabled)
}

fn client_certificates(written: &WrittenConfiguration, findings: &mut Findings) {
    for statement in written.accepted("TLSVerifyClient") {
        if statement
            .line
            .arguments
            .iter()
            .any(|word| word.eq_ignore_ascii_case("allow"))
        {
            let place = written.place(&statement.line.location);
            let reason = "a client whose certificate is wrong is let in as one without".to_owned();
            findings.note(
                FindingClass::Unsafe,
                place,
                &statement.line.keyword,
                reason,
                "write try or demand, or never if there are no certificates",
            );
        }
    }
}

/// Passwords on the wire.
fn encryption(written: &WrittenConfiguration, listeners: Option<&str>, findings: &mut Findings) {
    let demands = written.accepted("security").any(|statement| {
        let mut words = statement.line.arguments.iter();
        words.any(|word| {
            let (factor, strength) = word.split_once('=').unwrap_or((word, "0"));
            ["ssf", "transport", "tls", "simple_bind"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(factor))
                && strength.parse::<u32>().is_ok_and(|strength| strength > 1)
        })
    });
    if demands || written.configuration.global.disallow.contains(Disallow::BIND_SIMPLE) {
        return;
    }
    let has_certificate = ["TLSCertificateFile", "TLSCertificate"]
        .iter()
        .any(|name| written.statements.iter().any(|statement| statement.means(name)));
    let is_built = written
        .configuration
        .registry
        .with_keyword("TLSCertificateFile")
        .all(|row| !matches!(row.fate, Fate::Refused(_)));
    let reason = "passwords of simple binds cross the network in clear".to_owned();
    match listeners {
        Some(urls) => {
            for url in urls.split_whitespace().filter(|url| is_open(url)) {
                let advice = match (has_certificate, is_built) {
                    (true, _) => "write security simple_bind=128, or listen on ldaps:// alone",
                    (false, true) => "write TLSCertificateFile, TLSCertificateKeyFile and security simple_bind=128",
                    (false, false) => {
                        "listen on ldapi:// or 127.0.0.1 alone, behind a tunnel or a proxy that speaks TLS"
                    }
                };
                let reason = format!("{reason} to {url}");
                findings.note(
                    FindingClass::Unsafe,
                    written.whole(),
                    written.name("security"),
                    reason,
                    advice,
                );
            }
        }
        None if !has_certificate => {
            let reason =
                format!("there is no certificate: {reason}, unless the server listens on ldapi:// or loopback alone");
            findings.note(
                FindingClass::Missing,
                written.whole(),
                written.name("TLSCertificateFile"),
                reason,
                "name the listeners with -h to have them looked at",
            );
        }
        None => {}
    }
}

/// Whether clients on other machines reach a listener without TLS.
fn is_open(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<core::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    scheme.eq_ignore_ascii_case("ldap") && !is_loopback
}

/// Adds a size limit that allows everybody to take a whole database with one search.
pub(super) fn unlimited(
    written: &WrittenConfiguration,
    position: usize,
    database: &DatabaseConfig,
    findings: &mut Findings,
) {
    let special = database
        .limits
        .iter()
        .position(|rule| matches!(rule.selector, LimitsSelector::Any | LimitsSelector::Anonymous));
    let rule = special.and_then(|at| database.limits.get(at));
    let limits = rule.map_or(&database.search_limits, |rule| &rule.limits);
    if !is_unlimited(limits) {
        return;
    }
    let name = if rule.is_some() { "limits" } else { "sizelimit" };
    let own = written.of_database(position);
    let all = own
        .chain(&written.statements)
        .filter(|statement| statement.refusal.is_none());
    let mut named = all.filter(|statement| statement.means(name));
    let found = named.nth(special.unwrap_or_default());
    let place = found.map_or_else(
        || written.database(position),
        |statement| written.place(&statement.line.location),
    );
    let reason = "anybody, without a bind, may take all entries with one search".to_owned();
    let advice = "limit it, and write limits for those who need more";
    findings.note(
        FindingClass::Unsafe,
        place,
        found.map_or(written.name(name), |found| found.line.keyword.as_str()),
        reason,
        advice,
    );
}

fn is_unlimited(limits: &SearchLimits) -> bool {
    match limits.size_hard {
        HardLimit::Soft => limits.size_soft.is_none(),
        HardLimit::At(_) => false,
        HardLimit::Unlimited => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_that_other_machines_reach_are_open() {
        for open in [
            "ldap:///",
            "ldap://0.0.0.0:389/",
            "ldap://[::]:389",
            "LDAP://ldap.example.com/",
            "ldap://:389/",
        ] {
            assert!(is_open(open), "{open}");
        }
        for closed in [
            "ldapi:///",
            "ldaps:///",
            "ldap://127.0.0.1:3890/",
            "ldap://[::1]/",
            "ldap://localhost",
            "nothing",
        ] {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
