//! The hash functions of the SCRAM mechanisms, and HMAC and PBKDF2 with each.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Digest;

/// The hash function of a mechanism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hash {
    /// RFC 5802.
    Sha1,
    /// RFC 7677.
    Sha256,
    /// As in the drafts and Cyrus SASL.
    Sha512,
}

impl Hash {
    /// Octets of a digest, and of every key.
    pub const fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// HMAC of this hash function.
    pub fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
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

    pub(super) fn digest(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sha1::Sha1::digest(text).to_vec(),
            Self::Sha256 => sha2::Sha256::digest(text).to_vec(),
            Self::Sha512 => sha2::Sha512::digest(text).to_vec(),
        }
    }

    /// `SaltedPassword`, which is `Hi` of the password (RFC 5802 §2.2, §3).
    pub(super) fn salted_password(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        let mut salted = vec![0; self.length()];
        match self {
            Self::Sha1 => pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, rounds, &mut salted),
            Self::Sha256 => pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, rounds, &mut salted),
            Self::Sha512 => pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, rounds, &mut salted),
        }
        salted
    }
}
