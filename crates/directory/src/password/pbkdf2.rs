//! `{PBKDF2...}rounds$salt$key` of slapd's pw-pbkdf2 module: salt and key in base64 with `.` for `+`, unpadded.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use smallvec::SmallVec;
use subtle::ConstantTimeEq as _;

use super::decode_base64;

/// The pseudo-random function: HMAC with this digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prf {
    /// HMAC-SHA-1, 20-octet keys.
    Sha1,
    /// HMAC-SHA-256, 32-octet keys.
    Sha256,
    /// HMAC-SHA-512, 64-octet keys.
    Sha512,
}

/// Rounds of new hashes, as the module's default.
const NEW_ROUNDS: u32 = 10_000;
/// More than this in a stored hash is refused: about ten seconds of work.
const MAX_ROUNDS: u32 = 10_000_000;
const NEW_SALT_LENGTH: usize = 16;

impl Prf {
    fn derive(self, password: &[u8], salt: &[u8], rounds: u32) -> SmallVec<[u8; 64]> {
        let mut key = [0; 64];
        let length = match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        };
        let (key, _) = key.split_at_mut(length);
        match self {
            Self::Sha1 => ::pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, rounds, key),
            Self::Sha256 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, rounds, key),
            Self::Sha512 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, rounds, key),
        }
        SmallVec::from_slice(key)
    }
}

/// The module's base64 writes `.` where the standard alphabet has `+`.
fn decode(text: &str) -> Option<Vec<u8>> {
    decode_base64(text.replace('.', "+").as_bytes())
}

pub(super) fn verify(prf: Prf, hash: &[u8], presented: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(hash) else {
        return false;
    };
    let mut parts = text.trim().splitn(3, '$');
    let (Some(rounds), Some(salt), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Some(rounds) = rounds
        .parse::<u32>()
        .ok()
        .filter(|rounds| (1..=MAX_ROUNDS).contains(rounds))
    else {
        return false;
    };
    let (Some(salt), Some(key)) = (decode(salt), decode(key)) else {
        return false;
    };
    prf.derive(presented, &salt, rounds).as_slice().ct_eq(&key).into()
}

pub(super) fn hash(prf: Prf, presented: &[u8], random: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) {
    let mut salt = [0; NEW_SALT_LENGTH];
    random(&mut salt);
    let key = prf.derive(presented, &salt, NEW_ROUNDS);
    let encode = |octets: &[u8]| STANDARD_NO_PAD.encode(octets).replace('+', ".");
    out.extend_from_slice(format!("{NEW_ROUNDS}${}${}", encode(&salt), encode(&key)).as_bytes());
}
