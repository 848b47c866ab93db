//! `{CRYPT}` followed by a crypt(3) string: DES, MD5, bcrypt, SHA-256, SHA-512, yescrypt and their like.

use yescrypt::{PasswordHash, PasswordVerifier as _, Yescrypt};

use super::HashError;

/// bcrypt's cost is the logarithm of its rounds: stored hashes past these, about ten seconds of work, are refused.
const MAX_BCRYPT_COST: u32 = 17;
/// Of SHA-1, SHA-256 and SHA-512.
const MAX_SHA_ROUNDS: u32 = 5_000_000;
const NEW_SALT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether a string asks for no more work than is allowed, and has no characters but those that the libraries index their tables with.
fn within_limits(text: &str) -> bool {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return false;
    }
    // Of the four characters of its rounds the last counts most: `D` and all others are four million.
    if text.starts_with('_') {
        return text.as_bytes().get(4).is_none_or(|most| *most <= b'D');
    }
    let mut fields = text.split('$').skip(1);
    let are_few = |rounds: &str| rounds.parse().is_ok_and(|rounds: u32| rounds <= MAX_SHA_ROUNDS);
    match (fields.next(), fields.next()) {
        (Some("2a" | "2b" | "2y" | "2x"), Some(cost)) => cost.parse().is_ok_and(|cost: u32| cost <= MAX_BCRYPT_COST),
        (Some("5" | "6"), Some(field)) => field.strip_prefix("rounds=").is_none_or(are_few),
        (Some("sha1"), Some(rounds)) => are_few(rounds),
        // Flavour, log2(N), r; memory is 128 * r * N octets. `jFT` is 1 GiB. More passes would be a fourth character.
        (Some("y"), Some(parameters)) => matches!(parameters.as_bytes(), [_, n, r] if *n <= b'F' && *r <= b'T'),
        _ => true,
    }
}

/// Of yescrypt; the others take little.
pub(super) fn memory_octets(hash: &[u8]) -> usize {
    let text = std::str::from_utf8(hash).unwrap_or_default().trim();
    let Some((parameters, _)) = text.strip_prefix("$y$").and_then(|rest| rest.split_once('$')) else {
        return 0;
    };
    let number = |character: &u8| NEW_SALT.iter().position(|known| known == character);
    match parameters.as_bytes() {
        [_, n, r] if within_limits(text) => {
            let (n, r) = (number(n).unwrap_or_default(), number(r).unwrap_or_default());
            (128 * (r + 1)) << (n + 1)
        }
        _ => 0,
    }
}

pub(super) fn verify(hash: &[u8], presented: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(hash) else {
        return false;
    };
    let text = text.trim();
    if !within_limits(text) {
        tracing::warn!(target: "any", "a {{CRYPT}} password is malformed or asks for more time than is allowed, and was not verified");
        return false;
    }
    if text.starts_with("$y$") {
        return PasswordHash::new(text).is_ok_and(|hash| Yescrypt::default().verify_password(presented, &hash).is_ok());
    }
    pwhash::unix::verify(presented, text)
}

/// Hashes with a salt in the form of crypt(3), which names the algorithm.
pub(super) fn hash_with_salt(presented: &[u8], salt: &str) -> Result<Vec<u8>, HashError> {
    if !within_limits(salt) {
        return Err(HashError::Failed);
    }
    let text = pwhash::unix::crypt(presented, salt).map_err(|_| HashError::Failed)?;
    Ok(format!("{{CRYPT}}{text}").into_bytes())
}

/// Characters of a plain `%s`, as many as slapd takes.
const DEFAULT_SALT_LENGTH: usize = 31;
const MAX_SALT_LENGTH: usize = 64;
const NEW_SALT_LENGTH: usize = 16;

pub(super) fn salt(format: &str, random: &mut dyn FnMut(&mut [u8])) -> Option<String> {
    let (before, rest) = format.split_once('%')?;
    let (width, after) = rest.split_once('s')?;
    let length = match width.strip_prefix('.') {
        Some(digits) => digits.parse().ok().filter(|length| *length <= MAX_SALT_LENGTH)?,
        None if width.is_empty() => DEFAULT_SALT_LENGTH,
        None => return None,
    };
    Some(format!("{before}{}{after}", characters(length, random)))
}

fn characters(length: usize, random: &mut dyn FnMut(&mut [u8])) -> String {
    let mut octets = [0; MAX_SALT_LENGTH];
    random(&mut octets);
    let codes = octets
        .iter()
        .take(length)
        .filter_map(|octet| NEW_SALT.get(usize::from(octet % 64)));
    codes.map(|character| char::from(*character)).collect()
}

/// New values are SHA-512 crypt with the default 5,000 rounds, which every crypt(3) of the last decade verifies.
pub(super) fn hash(presented: &[u8], random: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) -> Result<(), HashError> {
    let salt = characters(NEW_SALT_LENGTH, random);
    let text =
        pwhash::sha512_crypt::hash_with(format!("$6${salt}").as_str(), presented).map_err(|_| HashError::Failed)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
