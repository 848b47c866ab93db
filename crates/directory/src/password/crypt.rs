//! `{CRYPT}` followed by a crypt(3) string: DES, MD5, NT, bcrypt, SHA-256, SHA-512, scrypt, yescrypt and similar ones.

use subtle::ConstantTimeEq as _;
use yescrypt::{Mode, Params, PasswordHash, PasswordVerifier as _, Yescrypt, yescrypt};

use super::{error::HashError, limit::MOST_WORK, nt};

/// bcrypt's cost is the logarithm of its rounds. Stored hashes above these limits (about ten seconds of work) are
/// refused.
const MAX_BCRYPT_COST: u32 = 17;
/// For SHA-1, SHA-256 and SHA-512.
const MAX_SHA_ROUNDS: u32 = 5_000_000;
/// Without `rounds=`.
const DEFAULT_SHA_ROUNDS: u32 = 5_000;
/// For scrypt: its memory, 128 * r * N octets, times its passes p.
const MAX_SCRYPT_OCTETS: u64 = 1 << 30;
/// The longest password, as in crypt(3) of Debian. The time of SHA-crypt grows with the square of the length, that of
/// others with the length times the rounds.
const MOST_OCTETS: usize = 511;
const NEW_SALT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether a string asks for no more work than allowed, and has only characters with which the libraries may index
/// their tables.
fn within_limits(text: &str) -> bool {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return false;
    }
    // The last of the four characters of the rounds counts most: `D` with any others is four million.
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
        (Some("7"), Some(_)) => Scrypt::parse(text).is_some_and(|scrypt| scrypt.octets() <= MAX_SCRYPT_OCTETS),
        _ => true,
    }
}

/// `$7$`, one digit of log2(N), five of r, five of p, the salt up to the next `$`, and 43 digits of the hash. Digits
/// are those of crypt(3), the least significant first.
struct Scrypt<'a> {
    log_n: u32,
    r: u32,
    p: u32,
    salt: &'a str,
    hash: &'a str,
}

impl<'a> Scrypt<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (parameters, rest) = text.strip_prefix("$7$")?.split_at_checked(11)?;
        let (salt, hash) = rest.rsplit_once('$').unwrap_or((rest, ""));
        let (log_n, rest) = parameters.split_at_checked(1)?;
        let (r, p) = rest.split_at_checked(5)?;
        Some(Self {
            log_n: number(log_n)?,
            r: number(r)?,
            p: number(p)?,
            salt,
            hash,
        })
    }

    /// Octets that all passes write.
    fn octets(&self) -> u64 {
        let per_row = u64::from(self.r)
            .saturating_mul(u64::from(self.p).max(1))
            .saturating_mul(128);
        per_row
            .checked_shl(self.log_n)
            .filter(|all| all >> self.log_n == per_row)
            .unwrap_or(u64::MAX)
    }

    fn verify(&self, presented: &[u8]) -> bool {
        let params = Params::new(Mode::Classic, 1 << self.log_n, self.r, self.p);
        let mut hash = [0; 32];
        let is_made = params.is_ok_and(|params| yescrypt(presented, self.salt.as_bytes(), &params, &mut hash).is_ok());
        is_made && digits(&hash).as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

/// The number that digits of crypt(3) stand for, the least significant first.
fn number(digits: &str) -> Option<u32> {
    let mut digits = digits.bytes().rev();
    digits.try_fold(0, |number: u32, digit| {
        let value = NEW_SALT.iter().position(|known| *known == digit)?;
        Some(number << 6 | u32::try_from(value).ok()?)
    })
}

/// Octets as digits of crypt(3), three octets in four digits.
fn digits(octets: &[u8]) -> String {
    let mut text = String::new();
    for group in octets.chunks(3) {
        let number = group
            .iter()
            .rev()
            .fold(0_usize, |number, octet| number << 8 | usize::from(*octet));
        let places = (0..=group.len()).map(|place| number >> (6 * place) & 63);
        text.extend(
            places
                .filter_map(|value| NEW_SALT.get(value))
                .map(|digit| char::from(*digit)),
        );
    }
    text
}

/// The memory of scrypt and yescrypt; the others take little.
pub(super) fn memory_octets(hash: &[u8]) -> usize {
    let text = std::str::from_utf8(hash).unwrap_or_default().trim();
    if let Some(scrypt) = Scrypt::parse(text).filter(|_| within_limits(text)) {
        return usize::try_from(scrypt.octets()).unwrap_or(usize::MAX);
    }
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

/// The work of a comparison, in parts of [`MOST_WORK`].
pub(super) fn work(hash: &[u8]) -> u64 {
    let text = std::str::from_utf8(hash).unwrap_or_default().trim();
    if !within_limits(text) {
        return 0;
    }
    let octets = memory_octets(hash) as u64;
    if octets > 0 {
        return octets * MOST_WORK / MAX_SCRYPT_OCTETS;
    }
    let of_rounds = |rounds: u32| u64::from(rounds) * MOST_WORK / u64::from(MAX_SHA_ROUNDS);
    if let Some(rounds) = text.strip_prefix('_').and_then(|rest| rest.get(..4)) {
        return of_rounds(number(rounds).unwrap_or_default());
    }
    let mut fields = text.split('$').skip(1);
    match (fields.next(), fields.next()) {
        (Some("2a" | "2b" | "2y" | "2x"), Some(cost)) => {
            let cost = cost.parse().unwrap_or(MAX_BCRYPT_COST);
            MOST_WORK >> MAX_BCRYPT_COST.saturating_sub(cost)
        }
        (Some("5" | "6"), Some(field)) => {
            let rounds = field.strip_prefix("rounds=").and_then(|rounds| rounds.parse().ok());
            of_rounds(rounds.unwrap_or(DEFAULT_SHA_ROUNDS))
        }
        (Some("sha1"), Some(rounds)) => of_rounds(rounds.parse().unwrap_or(MAX_SHA_ROUNDS)),
        // DES and MD5.
        _ => of_rounds(1_000),
    }
}

/// Whether crypt(3) takes a password: not too long, and without NUL, at which it would end.
fn is_taken(presented: &[u8]) -> bool {
    presented.len() <= MOST_OCTETS && !presented.contains(&0)
}

pub(super) fn verify(hash: &[u8], presented: &[u8]) -> bool {
    let Some(text) = std::str::from_utf8(hash).ok().filter(|_| is_taken(presented)) else {
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
    if let Some(scrypt) = Scrypt::parse(text) {
        return scrypt.verify(presented);
    }
    if let Some(hash) = text.strip_prefix("$3$$") {
        return nt::verify(hash.as_bytes(), presented);
    }
    pwhash::unix::verify(presented, text)
}

/// Hashes with a salt in the form of crypt(3), which names the algorithm.
pub(super) fn hash_with_salt(presented: &[u8], salt: &str) -> Result<Vec<u8>, HashError> {
    if !within_limits(salt) || !is_taken(presented) {
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
    if !is_taken(presented) {
        return Err(HashError::Failed);
    }
    let salt = characters(NEW_SALT_LENGTH, random);
    let text =
        pwhash::sha512_crypt::hash_with(format!("$6${salt}").as_str(), presented).map_err(|_| HashError::Failed)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
