//! userPassword values: `{SCHEME}` prefixes, verification and hashing (RFC 3112's notation as slapd uses it).
//!
//! Invariants: comparison takes the same time wherever two hashes differ; a stored hash cannot ask for unbounded work
//! or memory.

mod allowance;
mod apr1;
mod argon2;
mod crypt;
mod digest;
mod encoding;
mod error;
mod limit;
mod netscape;
mod nt;
mod pbkdf2;
mod scheme;
pub(crate) mod scram;
pub mod totp;

use subtle::ConstantTimeEq as _;

use crate::room;

pub use allowance::Allowance;
pub use error::HashError;
pub use scheme::{Cost, Scheme};

/// The cost of verifying one stored value.
pub fn cost(stored: &[u8]) -> Cost {
    split(stored).0.map_or(Cost::Cheap, Scheme::cost)
}

/// The cost of comparing a password with several stored values: many cheap comparisons, or some with a long password,
/// are slow.
pub fn cost_of_all<'v>(stored: impl Iterator<Item = &'v Vec<u8>>, presented: &[u8]) -> Cost {
    let (mut all, mut is_slow) = (0, false);
    for value in stored {
        all += value.len() + presented.len() + OCTETS_OF_COMPARISON;
        is_slow |= cost(value) == Cost::Slow;
    }
    if is_slow || all > MOST_CHEAP_OCTETS {
        Cost::Slow
    } else {
        Cost::Cheap
    }
}

/// What a comparison costs in addition to its octets.
const OCTETS_OF_COMPARISON: usize = 128;
/// Octets that are hashed in one or two milliseconds.
const MOST_CHEAP_OCTETS: usize = 512 << 10;

/// The work of comparing with a stored value, in parts of what one value may ask for.
fn work(stored: &[u8]) -> u64 {
    match split(stored) {
        (Some(Scheme::Argon2), hash) => argon2::work(hash),
        (Some(Scheme::Crypt), hash) => crypt::work(hash),
        (Some(Scheme::Pbkdf2(prf)), hash) => pbkdf2::work(prf, hash),
        (Some(Scheme::Scram(function)), hash) => scram::work(function, hash),
        (Some(Scheme::Apr1(_)), _) => OF_APR1,
        _ => 0,
    }
}

/// About a millisecond.
const OF_APR1: u64 = 100;

/// Memory for verifying one stored value, if it is much.
pub fn memory_octets(stored: &[u8]) -> usize {
    match split(stored) {
        (Some(Scheme::Argon2), hash) => argon2::memory_octets(hash),
        (Some(Scheme::Crypt), hash) => crypt::memory_octets(hash),
        _ => 0,
    }
}

/// Whether `presented` is the password behind the stored value. A value without a `{SCHEME}` is a cleartext password.
///
/// Unknown schemes, malformed hashes, and hashes whose cost parameters exceed the limits of their scheme verify
/// nothing. A hash that needs more memory than available verifies nothing either: the libraries would end the process.
pub fn verify(stored: &[u8], presented: &[u8]) -> bool {
    let octets = memory_octets(stored);
    if octets > 0 && room::passing::<u8>(octets).is_err() {
        tracing::warn!(target: "any", "a password was not verified: {octets} octets of memory cannot be had for it");
        return false;
    }
    match split(stored) {
        // As in slapd: a value that looks like a hash must not itself be a password.
        (None, unknown) if names_scheme(unknown) => false,
        (None, clear) => bool::from(clear.ct_eq(presented)),
        (Some(scheme), hash) => scheme.verify(hash, presented),
    }
}

/// The password behind a value that is stored in the clear, for mechanisms that need it. A value that names an unknown
/// scheme is none: it may be a hash, or name an account elsewhere (`{SASL}ann@EXAMPLE.COM`).
pub fn in_the_clear(stored: &[u8]) -> Option<&[u8]> {
    match split(stored) {
        (None, unknown) if names_scheme(unknown) => None,
        (None | Some(Scheme::Cleartext), clear) => Some(clear).filter(|clear| !clear.is_empty()),
        (Some(_), _) => None,
    }
}

/// Hashes a new password for storage, scheme prefix included. `salt` supplies randomness.
///
/// # Errors
/// The scheme cannot produce new hashes, or the randomness failed.
pub fn hash(scheme: Scheme, presented: &[u8], salt: &mut dyn FnMut(&mut [u8])) -> Result<Vec<u8>, HashError> {
    scheme.hash(presented, salt)
}

/// Hashes a new password as `{CRYPT}` with a given salt, `$6$abcdefgh` or two characters for DES.
///
/// # Errors
/// crypt(3) does not know the salt, or the salt asks for more work than a stored hash may.
pub fn hash_crypt(presented: &[u8], salt: &str) -> Result<Vec<u8>, HashError> {
    crypt::hash_with_salt(presented, salt)
}

/// The hash of a password that Windows and Samba know: MD4 of its UTF-16. They take 256 units at most; others are left
/// out.
pub fn nt_hash(clear: &str) -> [u8; 16] {
    nt::hash_of(clear.encode_utf16().take(MOST_NT_UNITS))
}

/// A salt in the form of `password-crypt-salt-format`: one `%s`, or `%.<n>s`, stands for random characters.
///
/// `None` if the format is invalid.
pub fn crypt_salt(format: &str, random: &mut dyn FnMut(&mut [u8])) -> Option<String> {
    crypt::salt(format, random)
}

/// The scheme of a stored value, if its prefix is a known one, and the rest.
pub fn split(stored: &[u8]) -> (Option<Scheme>, &[u8]) {
    if stored.first() == Some(&b'{')
        && let Some(end) = memchr::memchr(b'}', stored)
        && let (Some(name), Some(rest)) = (stored.get(1..end), stored.get(end + 1..))
        && let Some(scheme) = Scheme::of_stored(name)
    {
        return (Some(scheme), rest);
    }
    (None, stored)
}

/// UTF-16 units of a password of Windows, at most.
const MOST_NT_UNITS: usize = 256;

/// The key of one-time passwords in a stored value.
pub fn totp_key(stored: &[u8]) -> Option<totp::StoredKey<'_>> {
    match split(stored) {
        (Some(Scheme::Totp(function, parts)), value) => totp::read(function, parts, value),
        _ => None,
    }
}

/// Whether a value begins with something in braces.
fn names_scheme(stored: &[u8]) -> bool {
    stored.first() == Some(&b'{') && memchr::memchr(b'}', stored).is_some_and(|end| end > 1)
}

#[cfg(test)]
mod tests;
