//! OpenSSL's cipher strings (`openssl-ciphers(1)`).
//!
//! They select suites of TLS 1.2 and older. Suites of TLS 1.3 have their own names; if none is named, all are offered.

use super::{ROWS, Row};
use crate::SelectionError;

/// The suites that a cipher string selects, in its order.
pub(super) fn select(text: &str) -> Result<Vec<Row>, SelectionError> {
    let (tls13, tls12): (Vec<Row>, Vec<Row>) = ROWS.iter().partition(|row| row.is_tls13());
    let mut named13: Vec<Row> = Vec::new();
    let mut list = List::default();
    let mut has_others = false;
    for word in text.split([':', ',', ';', ' ']).filter(|word| !word.is_empty()) {
        if let Some(row) = tls13.iter().find(|row| row.name == word) {
            named13.push(*row);
            continue;
        }
        has_others = true;
        match word.strip_prefix('@') {
            Some(command) => check_command(command)?,
            None => list.apply(&tls12, word)?,
        }
    }
    let mut chosen = if named13.is_empty() { tls13 } else { named13 };
    if has_others {
        if list.chosen.is_empty() {
            return Ok(Vec::new());
        }
        chosen.extend(list.chosen);
    } else if !text.trim().is_empty() {
        chosen.extend(tls12);
    } else {
        chosen.clear();
    }
    Ok(chosen)
}

#[derive(Default)]
struct List {
    chosen: Vec<Row>,
    /// Suites removed for good, by name.
    killed: Vec<&'static str>,
}

impl List {
    fn apply(&mut self, all: &[Row], word: &str) -> Result<(), SelectionError> {
        let (sign, terms) = match word.as_bytes().first() {
            Some(sign @ (b'!' | b'-' | b'+')) => (*sign, word.get(1..).unwrap_or_default()),
            _ => (0, word),
        };
        let mut meant = Vec::new();
        for row in all {
            let mut is_meant = true;
            for term in terms.split('+') {
                is_meant &= matches(row, term).ok_or_else(|| unknown("cipher", word))?;
            }
            if is_meant {
                meant.push(*row);
            }
        }
        let is_meant = |row: &Row| meant.iter().any(|one| one.name == row.name);
        match sign {
            b'!' => {
                self.killed.extend(meant.iter().map(|row| row.name));
                self.chosen.retain(|row| !is_meant(row));
            }
            b'-' => self.chosen.retain(|row| !is_meant(row)),
            b'+' => self.chosen.sort_by_key(is_meant),
            _ => {
                let held: Vec<_> = self.chosen.iter().map(|row| row.name).collect();
                let is_new = |row: &Row| !held.contains(&row.name) && !self.killed.contains(&row.name);
                self.chosen.extend(meant.into_iter().filter(is_new));
            }
        }
        Ok(())
    }
}

/// `@STRENGTH` sorts by strength, and the suites are sorted. All of them meet `@SECLEVEL` 0 to 3.
fn check_command(command: &str) -> Result<(), SelectionError> {
    let is_met = command == "STRENGTH"
        || command
            .strip_prefix("SECLEVEL=")
            .is_some_and(|level| matches!(level, "0" | "1" | "2" | "3"));
    is_met
        .then_some(())
        .ok_or_else(|| unknown("command", &format!("@{command}")))
}

fn unknown(kind: &'static str, word: &str) -> SelectionError {
    SelectionError::Unknown {
        kind,
        word: word.to_owned(),
    }
}

/// Whether a term selects a suite of TLS 1.2; `None`: OpenSSL does not know the term either.
fn matches(row: &Row, term: &str) -> Option<bool> {
    let is_chacha = row.cipher == super::CHACHA;
    Some(match term {
        "ALL" | "COMPLEMENTOFDEFAULT" if term == "COMPLEMENTOFDEFAULT" => false,
        "ALL" | "DEFAULT" | "HIGH" | "TLSv1.2" | "FIPS" | "kECDHE" | "kEECDH" | "ECDHE" | "EECDH" | "ECDH"
        | "kEDH+kEECDH" => true,
        "aRSA" => row.authentication == "RSA",
        "aECDSA" | "ECDSA" => row.authentication == "ECDSA",
        "AES" | "AESGCM" => !is_chacha,
        "AES256" => row.cipher == super::AES256,
        "AES128" => row.cipher == super::AES128,
        "CHACHA20" => is_chacha,
        "SHA256" | "SHA384" | "SHA1" | "SHA" | "MD5" => false,
        "SUITEB128" => row.authentication == "ECDSA" && !is_chacha,
        "SUITEB128ONLY" => row.name == "ECDHE-ECDSA-AES128-GCM-SHA256",
        "SUITEB192" => row.name == "ECDHE-ECDSA-AES256-GCM-SHA384",
        _ if term == row.name => true,
        _ if is_known(term) => false,
        _ => return None,
    })
}

/// Terms that OpenSSL knows and no suite here has: kinds of keys and ciphers, protocol versions, and names of suites,
/// which have hyphens.
fn is_known(term: &str) -> bool {
    OTHERS.split(' ').any(|known| known == term)
        || (term.contains('-')
            && term
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-'))
        || (term.starts_with("TLS_")
            && term
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'))
}

/// Separated by blanks.
const OTHERS: &str = "COMPLEMENTOFALL MEDIUM LOW EXP EXPORT EXPORT40 EXPORT56 eNULL NULL aNULL kRSA RSA kDHr kDHd kDH kDHE kEDH DHE \
    EDH DH ADH AECDH kECDHr kECDHe kECDH aECDH aDSS DSS aDH kFZA aFZA eFZA FZA TLSv1 TLSv1.0 TLSv1.1 TLSv1.3 SSLv3 \
    SSLv2 AESCCM AESCCM8 ARIA ARIA128 ARIA256 CAMELLIA CAMELLIA128 CAMELLIA256 3DES DES RC4 RC2 IDEA SEED kGOST \
    aGOST aGOST01 GOST94 GOST89MAC PSK kPSK aPSK SRP CBC";
