//! `{PBKDF2...}rounds$salt$key` of slapd's pw-pbkdf2 module: salt and key in base64 with `.` for `+`, unpadded; and
//! other servers' notations.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use subtle::ConstantTimeEq as _;

use super::{encoding::decode_base64, limit::MOST_WORK};

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

/// Rounds of new hashes: the module's default.
const NEW_ROUNDS: u32 = 10_000;
/// More than this in a stored hash is refused: about ten seconds of work.
const MAX_ROUNDS: u32 = 10_000_000;
const NEW_SALT_LENGTH: usize = 16;
const LENGTH_OF_389_SALT: usize = 64;
const LENGTH_OF_389_KEY: usize = 256;

impl Prf {
    /// Octets of a key.
    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn derive(self, password: &[u8], salt: &[u8], rounds: u32, key: &mut [u8]) {
        match self {
            Self::Sha1 => ::pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, rounds, key),
            Self::Sha256 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, rounds, key),
            Self::Sha512 => ::pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, rounds, key),
        }
    }
}

/// The module's base64 writes `.` where the standard alphabet has `+`.
fn decode(text: &str) -> Option<Vec<u8>> {
    decode_base64(text.replace('.', "+").as_bytes())
}

/// The parts of a stored value.
struct Stored {
    rounds: u32,
    salt: Vec<u8>,
    key: Vec<u8>,
}

impl Stored {
    /// Reads one of three notations. `rounds$salt$key`: slapd's, and that of 389 Directory Server today. `rounds:`
    /// followed by the base64 of the key and then the salt: OpenDJ's. Base64 alone: that of older 389 Directory Server,
    /// with rounds in four octets, salt in 64, key in 256.
    fn parse(prf: Prf, text: &str) -> Option<Self> {
        if let Some((rounds, rest)) = text.split_once('$') {
            let (salt, key) = rest.split_once('$')?;
            return Some(Self {
                rounds: rounds.parse().ok()?,
                salt: decode(salt)?,
                key: decode(key)?,
            });
        }
        if let Some((rounds, both)) = text.split_once(':') {
            let mut key = decode_base64(both.as_bytes())?;
            let salt = (key.len() > prf.length()).then(|| key.split_off(prf.length()))?;
            let rounds = rounds.parse().ok()?;
            return Some(Self { rounds, salt, key });
        }
        let octets = decode_base64(text.as_bytes())?;
        let (rounds, rest) = octets.split_first_chunk()?;
        let (salt, key) = rest.split_at_checked(LENGTH_OF_389_SALT)?;
        (key.len() == LENGTH_OF_389_KEY).then(|| Self {
            rounds: u32::from_be_bytes(*rounds),
            salt: salt.to_vec(),
            key: key.to_vec(),
        })
    }
}

/// A stored value that may be compared with.
fn read(prf: Prf, hash: &[u8]) -> Option<Stored> {
    let text = std::str::from_utf8(hash).ok()?;
    let stored = Stored::parse(prf, text.trim())?;
    let is_whole = stored.key.len() == prf.length() || stored.key.len() == LENGTH_OF_389_KEY;
    (is_whole && (1..=MAX_ROUNDS).contains(&stored.rounds)).then_some(stored)
}

/// The work of a comparison, in parts of [`MOST_WORK`].
pub(super) fn work(prf: Prf, hash: &[u8]) -> u64 {
    read(prf, hash).map_or(0, |stored| {
        let blocks = stored.key.len().div_ceil(prf.length()) as u64;
        u64::from(stored.rounds) * blocks * MOST_WORK / u64::from(MAX_ROUNDS)
    })
}

pub(super) fn verify(prf: Prf, hash: &[u8], presented: &[u8]) -> bool {
    let Some(stored) = read(prf, hash) else {
        return false;
    };
    let mut key = [0; LENGTH_OF_389_KEY];
    let (key, _) = key.split_at_mut(stored.key.len());
    prf.derive(presented, &stored.salt, stored.rounds, key);
    key.ct_eq(&stored.key).into()
}

pub(super) fn hash(prf: Prf, presented: &[u8], random: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) {
    let mut salt = [0; NEW_SALT_LENGTH];
    random(&mut salt);
    let mut key = [0; 64];
    let (key, _) = key.split_at_mut(prf.length());
    prf.derive(presented, &salt, NEW_ROUNDS, key);
    let encode = |octets: &[u8]| STANDARD_NO_PAD.encode(octets).replace('+', ".");
    out.extend_from_slice(format!("{NEW_ROUNDS}${}${}", encode(&salt), encode(key)).as_bytes());
}
