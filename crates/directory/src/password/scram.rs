//! `{SCRAM-SHA-256}iterations:salt$StoredKey:ServerKey` (the authInfo and authValue of RFC 5803), and Dovecot's
//! `iterations,salt,StoredKey,ServerKey`. SCRAM (RFC 5802 §3) verifies a client with them, and so does a simple bind.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Digest;
use subtle::ConstantTimeEq as _;

use super::{encoding::decode_base64, limit::MOST_WORK};

/// The hash function of a SCRAM mechanism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hash {
    /// RFC 5802.
    Sha1,
    /// RFC 7677.
    Sha256,
    /// As in the drafts and Cyrus SASL.
    Sha512,
}

/// Rounds of new keys, and of keys that a bind makes from a cleartext password. It is the minimum of RFC 7677: the
/// client waits for the computation.
pub(crate) const ROUNDS: u32 = 4_096;
const MAX_ROUNDS: u32 = 10_000_000;
const NEW_SALT_LENGTH: usize = 16;
const MAX_SALT_LENGTH: usize = 1_024;

/// The part of a password that a server stores.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) rounds: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: Vec<u8>,
    pub(crate) server_key: Vec<u8>,
}

impl Hash {
    pub(crate) const fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// HMAC of this hash function.
    pub(crate) fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        fn run<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
            // HMAC takes keys of every length.
            M::new_from_slice(key).map_or_else(
                |_| Vec::new(),
                |mac| mac.chain_update(text).finalize().into_bytes().to_vec(),
            )
        }
        match self {
            Self::Sha1 => run::<Hmac<sha1::Sha1>>(key, text),
            Self::Sha256 => run::<Hmac<sha2::Sha256>>(key, text),
            Self::Sha512 => run::<Hmac<sha2::Sha512>>(key, text),
        }
    }

    pub(crate) fn digest(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sha1::Sha1::digest(text).to_vec(),
            Self::Sha256 => sha2::Sha256::digest(text).to_vec(),
            Self::Sha512 => sha2::Sha512::digest(text).to_vec(),
        }
    }

    /// `Hi` of RFC 5802.
    fn salted_password(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        let mut salted = vec![0; self.length()];
        match self {
            Self::Sha1 => ::pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, rounds, &mut salted),
            Self::Sha256 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, rounds, &mut salted),
            Self::Sha512 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, rounds, &mut salted),
        }
        salted
    }
}

impl Keys {
    /// Makes the keys of a password. It takes milliseconds.
    pub(crate) fn derive(hash: Hash, password: &[u8], salt: &[u8], rounds: u32) -> Self {
        let salted = hash.salted_password(password, salt, rounds);
        Self {
            rounds,
            salt: salt.to_vec(),
            stored_key: hash.digest(&hash.mac(&salted, b"Client Key")),
            server_key: hash.mac(&salted, b"Server Key"),
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
        let fits = fields.next().is_none()
            && (1..=MAX_SALT_LENGTH).contains(&salt.len())
            && stored_key.len() == hash.length()
            && server_key.len() == hash.length();
        fits.then_some(Self {
            rounds,
            salt,
            stored_key,
            server_key,
        })
    }

    fn text(&self) -> String {
        let encode = |octets: &[u8]| STANDARD.encode(octets);
        let (salt, stored, server) = (encode(&self.salt), encode(&self.stored_key), encode(&self.server_key));
        format!("{}:{salt}${stored}:{server}", self.rounds)
    }
}

/// The work of a comparison, in parts of [`MOST_WORK`].
pub(super) fn work(hash: Hash, text: &[u8]) -> u64 {
    Keys::parse(hash, text).map_or(0, |keys| u64::from(keys.rounds) * MOST_WORK / u64::from(MAX_ROUNDS))
}

pub(super) fn verify(hash: Hash, text: &[u8], presented: &[u8]) -> bool {
    let Some(stored) = Keys::parse(hash, text) else {
        return false;
    };
    let keys = Keys::derive(hash, presented, &stored.salt, stored.rounds);
    keys.stored_key.ct_eq(&stored.stored_key).into()
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
