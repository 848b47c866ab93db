//! `{ARGON2}` followed by a PHC string `$argon2id$v=19$m=...,t=...,p=...$salt$hash`, as slapd's argon2 module writes
//! it.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use subtle::ConstantTimeEq as _;

use super::{encoding::decode_base64, error::HashError, limit::MOST_WORK};
use crate::room;

/// Parameters of new hashes: the second recommendation of RFC 9106 §4 scaled to a server (19 MiB, two passes, OWASP's
/// minimum).
const NEW_MEMORY_KIB: u32 = 19_456;
const NEW_PASSES: u32 = 2;
const NEW_LANES: u32 = 1;
const NEW_SALT_LENGTH: usize = 16;
const NEW_KEY_LENGTH: usize = 32;
/// Stored hashes must not ask for more: 1 GiB.
const MAX_MEMORY_KIB: u32 = 1 << 20;
const MAX_PASSES: u32 = 64;
/// Nor may they ask for more work than this, passes by KiB: about ten seconds.
const MAX_WORK_KIB: u32 = 8 << 20;
const MAX_LANES: u32 = 64;
const MAX_KEY_LENGTH: usize = 512;

struct Stored {
    algorithm: Algorithm,
    version: Version,
    params: Params,
    salt: Vec<u8>,
    key: Vec<u8>,
}

fn parse(text: &str) -> Option<Stored> {
    let mut fields = text.trim().strip_prefix('$')?.split('$');
    let algorithm = match fields.next()? {
        "argon2d" => Algorithm::Argon2d,
        "argon2i" => Algorithm::Argon2i,
        "argon2id" => Algorithm::Argon2id,
        _ => return None,
    };
    let mut field = fields.next()?;
    let version = match field.strip_prefix("v=") {
        Some(number) => {
            field = fields.next()?;
            if number == "19" { Version::V0x13 } else { Version::V0x10 }
        }
        None => Version::V0x10,
    };
    let (mut memory, mut passes, mut lanes) = (0, 0, 0);
    for parameter in field.split(',') {
        let (name, value) = parameter.split_once('=')?;
        let value = value.parse::<u32>().ok()?;
        match name {
            "m" => memory = value,
            "t" => passes = value,
            "p" => lanes = value,
            _ => return None,
        }
    }
    let salt = decode_base64(fields.next()?.as_bytes())?;
    let key = decode_base64(fields.next()?.as_bytes())?;
    let params = Params::new(memory, passes, lanes, Some(key.len())).ok()?;
    Some(Stored {
        algorithm,
        version,
        params,
        salt,
        key,
    })
}

impl Stored {
    fn is_within_limits(&self) -> bool {
        let (memory, passes) = (self.params.m_cost(), self.params.t_cost());
        let is_work_bounded = memory.saturating_mul(passes) <= MAX_WORK_KIB;
        let is_each_bounded = memory <= MAX_MEMORY_KIB && passes <= MAX_PASSES && self.params.p_cost() <= MAX_LANES;
        is_work_bounded && is_each_bounded && self.key.len() <= MAX_KEY_LENGTH
    }
}

pub(super) fn memory_octets(hash: &[u8]) -> usize {
    let stored = std::str::from_utf8(hash).ok().and_then(parse);
    let stored = stored.filter(Stored::is_within_limits);
    let kibibytes = stored.map_or(0, |stored| stored.params.m_cost());
    usize::try_from(kibibytes).unwrap_or(usize::MAX).saturating_mul(1024)
}

/// The work of a comparison, in parts of [`MOST_WORK`].
pub(super) fn work(hash: &[u8]) -> u64 {
    let stored = std::str::from_utf8(hash).ok().and_then(parse);
    stored.filter(Stored::is_within_limits).map_or(0, |stored| {
        let kibibytes = u64::from(stored.params.m_cost()) * u64::from(stored.params.t_cost());
        kibibytes * MOST_WORK / u64::from(MAX_WORK_KIB)
    })
}

pub(super) fn verify(hash: &[u8], presented: &[u8]) -> bool {
    let Some(stored) = std::str::from_utf8(hash).ok().and_then(parse) else {
        return false;
    };
    if !stored.is_within_limits() {
        tracing::warn!(target: "any", "an {{ARGON2}} password asks for more memory or time than is allowed and was not verified");
        return false;
    }
    let mut key = vec![0; stored.key.len()];
    let argon2 = Argon2::new(stored.algorithm, stored.version, stored.params);
    argon2.hash_password_into(presented, &stored.salt, &mut key).is_ok() && bool::from(key.ct_eq(&stored.key))
}

pub(super) fn hash(presented: &[u8], random: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) -> Result<(), HashError> {
    let mut salt = [0; NEW_SALT_LENGTH];
    random(&mut salt);
    let params =
        Params::new(NEW_MEMORY_KIB, NEW_PASSES, NEW_LANES, Some(NEW_KEY_LENGTH)).map_err(|_| HashError::Failed)?;
    // If the memory is not available, the library ends the process.
    if room::passing::<[u8; 1024]>(NEW_MEMORY_KIB as usize).is_err() {
        return Err(HashError::Failed);
    }
    let mut key = [0; NEW_KEY_LENGTH];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(presented, &salt, &mut key)
        .map_err(|_| HashError::Failed)?;
    let text = format!(
        "$argon2id$v=19$m={NEW_MEMORY_KIB},t={NEW_PASSES},p={NEW_LANES}${}${}",
        STANDARD_NO_PAD.encode(salt),
        STANDARD_NO_PAD.encode(key)
    );
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
