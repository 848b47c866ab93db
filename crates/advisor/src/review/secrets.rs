//! Passwords in the configuration: in clear text, badly hashed, or in a file that everybody may read.

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use ironbark_config::{Setting, Surveyed};
use ironbark_directory::password::{self, Scheme};

use crate::{
    finding::{FindingClass, FindingPlace, Findings},
    written::WrittenConfiguration,
};

const INSTEAD: &str = "put the output of slappasswd -h {ARGON2} in its place";

/// Adds the dangers for passwords in the configuration and for passwords that the server will store.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    for statement in written.accepted("rootpw") {
        let stored = statement.line.arguments.first().map(String::as_str).unwrap_or_default();
        if let Some(reason) = weakness(stored) {
            let place = written.place(&statement.line.location);
            findings.note(FindingClass::Unsafe, place, &statement.line.keyword, reason, INSTEAD);
        }
    }
    for statement in written.accepted("password-hash") {
        for scheme in &statement.line.arguments {
            if let Some(reason) = weak_scheme(scheme, &written.configuration.global.crypt_salt_format) {
                let place = written.place(&statement.line.location);
                let reason = format!("new passwords are stored as {scheme}: {reason}");
                findings.note(
                    FindingClass::Unsafe,
                    place,
                    &statement.line.keyword,
                    reason,
                    "write {ARGON2} or {SSHA512}",
                );
            }
        }
    }
    readable_files(written, findings);
}

/// The weakness of a stored password.
fn weakness(stored: &str) -> Option<String> {
    let (scheme, hash) = password::split(stored.as_bytes());
    match scheme {
        None if stored.starts_with('{') && stored.contains('}') => {
            Some("the password has no known scheme, so the whole value counts as a clear-text password".to_owned())
        }
        None | Some(Scheme::Cleartext) => Some("the password stands in clear text".to_owned()),
        Some(Scheme::Crypt) => weak_crypt(&String::from_utf8_lossy(hash))
            .map(|reason| format!("the password is hashed with {{CRYPT}}: {reason}")),
        Some(scheme) => weak_digest(scheme.name())
            .map(|reason| format!("the password is hashed with {{{}}}: {reason}", scheme.name())),
    }
}

/// The weakness of a scheme for new passwords.
fn weak_scheme(scheme: &str, salt_format: &str) -> Option<&'static str> {
    let name = scheme.trim_matches(['{', '}']).to_ascii_uppercase();
    match name.as_str() {
        "CLEARTEXT" => Some("clear text"),
        "CRYPT" => weak_crypt(salt_format),
        name => weak_digest(name),
    }
}

fn weak_digest(name: &str) -> Option<&'static str> {
    match name {
        "MD5" | "SHA" | "SHA256" | "SHA384" | "SHA512" => {
            Some("there is no salt, so tables and equal hashes give passwords away")
        }
        "SMD5" => Some("MD5 hashes are the fastest to guess"),
        _ => None,
    }
}

/// Finds crypt(3) strings of DES and MD5, and salts for them.
fn weak_crypt(text: &str) -> Option<&'static str> {
    if text.starts_with("$1$") {
        Some("MD5 hashes are the fastest to guess")
    } else if text.starts_with('$') {
        None
    } else {
        Some("DES looks at eight characters of a password and is guessed in hours")
    }
}

/// Files with secrets that every user of the machine may read.
fn readable_files(written: &WrittenConfiguration, findings: &mut Findings) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for statement in written.statements.iter().filter(|statement| holds_secret(statement)) {
        let place = written.place(&statement.line.location);
        if !seen.insert(place.file.clone()) || !is_readable_by_others(Path::new(&place.file)) {
            continue;
        }
        let reason = format!(
            "every user of the machine may read {}, and this secret with it",
            place.file
        );
        let advice = format!("run chmod o-rwx {}", place.file);
        findings.note(
            FindingClass::Unsafe,
            FindingPlace { ..place },
            &statement.line.keyword,
            reason,
            advice,
        );
    }
}

/// Whether a statement holds a secret.
pub(crate) fn holds_secret(statement: &Surveyed) -> bool {
    let has_credentials = || {
        let mut words = statement.line.arguments.iter();
        words.any(|word| word.to_ascii_lowercase().starts_with("credentials="))
    };
    match statement.row.map(Setting::name) {
        Some("rootpw" | "passphrase" | "cryptkey" | "TLSCertificateKey") => true,
        Some("syncrepl") => has_credentials(),
        _ => false,
    }
}

/// Whether users that are neither owner nor in the group may read a file, given the folders above it.
pub(super) fn is_readable_by_others(path: &Path) -> bool {
    let mode = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.permissions().mode());
    let Ok(path) = std::fs::canonicalize(path) else {
        return false;
    };
    let may_enter = |folder: &Path| mode(folder).is_ok_and(|mode| mode & 0o001 != 0);
    mode(&path).is_ok_and(|mode| mode & 0o004 != 0) && path.ancestors().skip(1).all(may_enter)
}

/// Whether such users may enter a folder.
pub(super) fn is_enterable_by_others(folder: &Path) -> bool {
    let Ok(folder) = std::fs::canonicalize(folder) else {
        return false;
    };
    let folders: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
    let mut modes = folders
        .iter()
        .map(|folder| std::fs::metadata(folder).map(|metadata| metadata.permissions().mode()));
    modes.all(|mode| mode.is_ok_and(|mode| mode & 0o001 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_that_are_guessed_easily_are_weak() {
        for weak in [
            "secret",
            "{CLEARTEXT}secret",
            "{MD5}X03MO1qnZdYdgyfeuILPmQ==",
            "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            "{SMD5}x",
            "{sha256}x",
            "{CRYPT}ab01FAX.bQRSU",
            "{CRYPT}$1$abcdefgh$x",
            "{KERBEROS}x@Y",
        ] {
            assert!(weakness(weak).is_some(), "{weak}");
        }
        for good in [
            "{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3",
            "{ARGON2}$argon2id$x",
            "{CRYPT}$6$x$y",
            "{PBKDF2}1$x$y",
        ] {
            assert_eq!(weakness(good), None, "{good}");
        }
        assert!(weak_scheme("{CRYPT}", "%s").is_some() && weak_scheme("{crypt}", "$6$%.16s").is_none());
        assert!(weak_scheme("{SSHA}", "%s").is_none() && weak_scheme("{SHA}", "%s").is_some());
    }
}
