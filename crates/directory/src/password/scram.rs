//! `{SCRAM-SHA-256}iterations:salt$StoredKey:ServerKey` (the authInfo and authValue of RFC 5803), and Dovecot's
//! `iterations,salt,StoredKey,ServerKey`. SCRAM (RFC 5802 §3) verifies a client with them, and so does a simple bind.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_sasl::scram::{ClientKeys, Hash, StoredKeys};

use super::{encoding::decode_base64, limit::MOST_WORK};

/// Rounds of new keys, and of keys that a bind makes from a cleartext password. It is the minimum of RFC 7677: the
/// client waits for the computation.
pub(crate) const ROUNDS: u32 = 4_096;
const MAX_ROUNDS: u32 = 10_000_000;
const NEW_SALT_LENGTH: usize = 16;
const MAX_SALT_LENGTH: usize = 1_024;

/// The part of a password that a server stores.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) rounds: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored: StoredKeys,
}

impl Keys {
    /// Makes the keys of a password. It takes milliseconds.
    pub(crate) fn derive(hash: Hash, password: &[u8], salt: &[u8], rounds: u32) -> Self {
        Self {
            rounds,
            salt: salt.to_vec(),
            stored: ClientKeys::derive(hash, password, salt, rounds).stored(),
        }
    }

    /// Reads the stored text behind the scheme.
    pub(crate) fn parse(hash: Hash, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let mut fields = text.split([',', ':', '$']);
        let rounds = fields.next()?.parse::<u32>().ok();
        let rounds = rounds.filter(|rounds| (1..=MAX_ROUNDS).contains(rounds))?;
        let mut octets = || decode_base64(fields.next()?.as_bytes());
        let (salt, stored_key, server_key) = (octets()?, octets()?, octets()?);
        let fits = fields.next().is_none() && (1..=MAX_SALT_LENGTH).contains(&salt.len());
        let stored = StoredKeys::new(hash, stored_key, server_key).filter(|_| fits)?;
        Some(Self { rounds, salt, stored })
    }

    fn text(&self) -> String {
        let encode = |octets: &[u8]| STANDARD.encode(octets);
        let (salt, stored) = (encode(&self.salt), encode(self.stored.stored_key()));
        format!("{}:{salt}${stored}:{}", self.rounds, encode(self.stored.server_key()))
    }
}

/// The work of a comparison, in parts of [`MOST_WORK`].
pub(super) fn work(hash: Hash, text: &[u8]) -> u64 {
    Keys::parse(hash, text).map_or(0, |keys| u64::from(keys.rounds) * MOST_WORK / u64::from(MAX_ROUNDS))
}

pub(super) fn verify(hash: Hash, text: &[u8], presented: &[u8]) -> bool {
    let Some(keys) = Keys::parse(hash, text) else {
        return false;
    };
    let own = Keys::derive(hash, presented, &keys.salt, keys.rounds);
    own.stored.is_same(&keys.stored)
}

pub(super) fn hash(hash: Hash, presented: &[u8], random: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) {
    let mut salt = [0; NEW_SALT_LENGTH];
    random(&mut salt);
    out.extend_from_slice(Keys::derive(hash, presented, &salt, ROUNDS).text().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys behind the example of RFC 7677 §3, in both forms.
    #[test]
    fn both_stored_forms_are_read_and_verified() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let keys = Keys::derive(Hash::Sha256, b"pencil", &salt, 4096);
        let text = keys.text();
        assert!(text.starts_with("4096:W22ZaJ0SNY7soEsUEjb6gQ==$"), "{text}");
        for form in [text.clone(), text.replace([':', '$'], ",")] {
            assert!(verify(Hash::Sha256, form.as_bytes(), b"pencil"), "{form}");
            assert!(!verify(Hash::Sha256, form.as_bytes(), b"Pencil"));
            assert!(!verify(Hash::Sha1, form.as_bytes(), b"pencil"));
        }
    }

    #[test]
    fn a_stored_value_that_is_damaged_or_asks_for_too_much_verifies_nothing() {
        let text = Keys::derive(Hash::Sha1, b"pencil", b"salt", 1).text();
        for damaged in [
            String::new(),
            text.replacen('1', "0", 1),
            text.replacen('1', "10000001", 1),
            format!("{text}:"),
            text[..text.len() - 5].to_owned(),
        ] {
            assert!(!verify(Hash::Sha1, damaged.as_bytes(), b"pencil"), "{damaged}");
        }
    }
}
