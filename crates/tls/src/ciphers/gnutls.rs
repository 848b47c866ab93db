//! GnuTLS's priority strings (`gnutls-cli(1)`, "priority strings"), which Debian's slapd takes.

use super::{AES128, AES256, CHACHA, ROWS, Row};
use crate::SelectionError;

/// Keywords that a priority string may begin with.
const KEYWORDS: [&str; 11] = [
    "NORMAL",
    "PERFORMANCE",
    "SECURE",
    "SECURE128",
    "SECURE192",
    "SECURE256",
    "SUITEB128",
    "SUITEB192",
    "PFS",
    "LEGACY",
    "NONE",
];

/// Whether a text is a priority string rather than one of OpenSSL's.
pub(super) fn is_meant(text: &str) -> bool {
    let first = text.split([':', '+', ',']).next().unwrap_or_default();
    KEYWORDS.contains(&first)
        || first == "SYSTEM"
        || text.starts_with('@')
        || text.contains("VERS-")
        || text.contains(":%")
}

/// The allowed parts, by kind.
struct Allowed {
    ciphers: Vec<&'static str>,
    exchanges: Vec<&'static str>,
    versions: Vec<&'static str>,
    has_aead: bool,
}

const CIPHERS: [&str; 3] = [AES256, CHACHA, AES128];
const EXCHANGES: [&str; 2] = ["ECDHE-ECDSA", "ECDHE-RSA"];
const VERSIONS: [&str; 2] = ["VERS-TLS1.3", "VERS-TLS1.2"];

/// The suites that a priority string selects: by version, key exchange and cipher, in the order in which they were
/// added.
pub(super) fn select(text: &str) -> Result<Vec<Row>, SelectionError> {
    let mut words = text.split([':', ',']).filter(|word| !word.is_empty());
    let mut allowed = Allowed::by_keyword(words.next().unwrap_or_default())?;
    for word in words {
        let (sign, name) = word.split_at_checked(1).unwrap_or(("", word));
        match sign {
            "+" => allowed.change(name, true)?,
            "-" | "!" => allowed.change(name, false)?,
            // Options of behaviour, not algorithms.
            "%" => {}
            _ if KEYWORDS.contains(&word) => allowed.limit(word),
            _ => return Err(unknown(word)),
        }
    }
    Ok(allowed.suites())
}

fn unknown(word: &str) -> SelectionError {
    SelectionError::Unknown {
        kind: "word",
        word: word.to_owned(),
    }
}

impl Allowed {
    fn by_keyword(word: &str) -> Result<Self, SelectionError> {
        let mut allowed = Self {
            ciphers: CIPHERS.to_vec(),
            exchanges: EXCHANGES.to_vec(),
            versions: VERSIONS.to_vec(),
            has_aead: true,
        };
        match word {
            "NONE" => {
                allowed.ciphers.clear();
                allowed.exchanges.clear();
                allowed.versions.clear();
                allowed.has_aead = false;
            }
            // The machine's own choice. It is not looked up: it includes all suites that exist here.
            _ if word.starts_with('@') || word == "SYSTEM" => {}
            _ if KEYWORDS.contains(&word) => allowed.limit(word),
            // `NORMAL` is assumed if the first word is a change.
            _ if word.starts_with(['+', '-', '!']) => {
                let (sign, name) = word.split_at_checked(1).unwrap_or_default();
                allowed.change(name, sign == "+")?;
            }
            _ => return Err(unknown(word)),
        }
        Ok(allowed)
    }

    /// Restricts the allowed parts to those of a keyword.
    fn limit(&mut self, keyword: &str) {
        match keyword {
            "SECURE192" | "SECURE256" => self.ciphers.retain(|cipher| *cipher != AES128),
            "SUITEB128" => {
                self.ciphers.retain(|cipher| *cipher != CHACHA);
                self.exchanges.retain(|exchange| *exchange == "ECDHE-ECDSA");
            }
            "SUITEB192" => {
                self.ciphers.retain(|cipher| *cipher == AES256);
                self.exchanges.retain(|exchange| *exchange == "ECDHE-ECDSA");
            }
            _ => {}
        }
    }

    fn change(&mut self, name: &str, is_added: bool) -> Result<(), SelectionError> {
        let is = |known: &[&str]| known.contains(&name);
        if is(&["CIPHER-ALL"]) {
            set_all(&mut self.ciphers, &CIPHERS, is_added);
        } else if is(&["KX-ALL"]) {
            set_all(&mut self.exchanges, &EXCHANGES, is_added);
        } else if is(&["VERS-TLS-ALL", "VERS-ALL"]) {
            set_all(&mut self.versions, &VERSIONS, is_added);
        } else if is(&["AEAD", "MAC-ALL"]) {
            self.has_aead = is_added;
        } else if let Some(cipher) = CIPHERS.iter().find(|known| **known == name) {
            set_one(&mut self.ciphers, cipher, is_added);
        } else if let Some(exchange) = EXCHANGES.iter().find(|known| **known == name) {
            set_one(&mut self.exchanges, exchange, is_added);
        } else if let Some(version) = VERSIONS.iter().find(|known| **known == name) {
            set_one(&mut self.versions, version, is_added);
        } else if KEYWORDS.contains(&name) {
            let of_keyword = Self::by_keyword(name)?;
            set_some(&mut self.ciphers, &of_keyword.ciphers, is_added);
            set_some(&mut self.exchanges, &of_keyword.exchanges, is_added);
        } else if !is_known(name) {
            return Err(unknown(name));
        }
        Ok(())
    }

    fn suites(&self) -> Vec<Row> {
        let mut chosen = Vec::new();
        if !self.has_aead {
            return chosen;
        }
        for version in &self.versions {
            let is_tls13 = *version == "VERS-TLS1.3";
            for cipher in &self.ciphers {
                let of_cipher = ROWS
                    .iter()
                    .filter(|row| row.cipher == *cipher && row.is_tls13() == is_tls13);
                let is_allowed = |row: &&Row| {
                    is_tls13
                        || self
                            .exchanges
                            .iter()
                            .any(|exchange| exchange.strip_prefix("ECDHE-") == Some(row.authentication))
                };
                chosen.extend(of_cipher.filter(is_allowed));
            }
        }
        chosen
    }
}

fn set_all(held: &mut Vec<&'static str>, all: &[&'static str], is_added: bool) {
    held.clear();
    if is_added {
        held.extend_from_slice(all);
    }
}

/// Parts that are there already stay where they are.
fn set_some(held: &mut Vec<&'static str>, some: &[&'static str], is_added: bool) {
    if is_added {
        let missing: Vec<_> = some.iter().filter(|one| !held.contains(one)).collect();
        held.extend(missing);
    } else {
        held.retain(|known| !some.contains(known));
    }
}

fn set_one(held: &mut Vec<&'static str>, one: &'static str, is_added: bool) {
    held.retain(|known| *known != one);
    if is_added {
        held.push(one);
    }
}

/// Names that GnuTLS knows and no part here has: older ciphers, checksums, key exchanges and versions. Also names that
/// this setting does not select here (signatures, groups, kinds of certificates, compression).
fn is_known(name: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "VERS-",
        "SIGN-",
        "GROUP-",
        "CURVE-",
        "CTYPE-",
        "COMP-",
        "MAC-",
        "PROFILE-",
        "CHACHA20-",
    ];
    OTHERS.split(' ').any(|known| known == name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Separated by blanks.
const OTHERS: &str = "AES-128-CBC AES-192-CBC AES-256-CBC AES-192-GCM AES-128-CCM AES-256-CCM AES-128-CCM-8 AES-256-CCM-8 \
    CAMELLIA-128-CBC CAMELLIA-192-CBC CAMELLIA-256-CBC CAMELLIA-128-GCM CAMELLIA-256-GCM 3DES-CBC DES-CBC \
    ARCFOUR-128 ARCFOUR-40 RC2-40 NULL SHA1 SHA256 SHA384 SHA512 MD5 UMAC-96 UMAC-128 RSA RSA-EXPORT DHE-RSA \
    DHE-DSS ANON-DH ANON-ECDH PSK DHE-PSK ECDHE-PSK RSA-PSK SRP SRP-RSA SRP-DSS ECDH-ANON DH-ANON 3DES ARCFOUR \
    CIPHER-NULL GOST-ALL VKO-GOST-12 GOST CTYPE-ALL OPENPGP X509 DEFLATE";
