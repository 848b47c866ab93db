//! `{APR1}` and `{BSDMD5}` (OpenLDAP's pw-apr1): base64 of 16 octets of digest, then salt. The digest is that of
//! Poul-Henning Kamp's MD5-based crypt, with Apache's prefix `$apr1$` or with `$1$`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

use super::encoding::decode_base64;

/// Whose prefix is part of what is hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Apache's.
    Apache,
    /// FreeBSD's.
    Bsd,
}

const LENGTH: usize = 16;
const ROUNDS: u32 = 1000;
/// Longer salts and passwords verify nothing: each octet is hashed thousands of times.
const MOST_OCTETS: usize = 1024;
/// Octets of a new salt.
const NEW_SALT_LENGTH: usize = 8;
const SALT_CHARACTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Variant {
    const fn prefix(self) -> &'static [u8] {
        match self {
            Self::Apache => b"$apr1$",
            Self::Bsd => b"$1$",
        }
    }

    fn digest(self, password: &[u8], salt: &[u8]) -> [u8; LENGTH] {
        let inner = Md5::new().chain_update(password).chain_update(salt);
        let inner = inner.chain_update(password).finalize();
        let mut whole = Md5::new().chain_update(password).chain_update(self.prefix());
        whole.update(salt);
        let length = password.len();
        for start in (0..length).step_by(LENGTH) {
            whole.update(inner.get(..LENGTH.min(length - start)).unwrap_or_default());
        }
        let first = password.get(..1).unwrap_or_default();
        let mut bits = length;
        while bits > 0 {
            whole.update(if bits & 1 == 1 { &[0][..] } else { first });
            bits >>= 1;
        }
        let mut digest: [u8; LENGTH] = whole.finalize().into();
        for round in 0..ROUNDS {
            let is_odd = round % 2 == 1;
            let (before, after) = if is_odd {
                (password, &digest[..])
            } else {
                (&digest[..], password)
            };
            let mut next = Md5::new().chain_update(before);
            if round % 3 != 0 {
                next.update(salt);
            }
            if round % 7 != 0 {
                next.update(password);
            }
            digest = next.chain_update(after).finalize().into();
        }
        digest
    }
}

pub(super) fn verify(variant: Variant, hash: &[u8], presented: &[u8]) -> bool {
    if hash.len() > MOST_OCTETS || presented.len() > MOST_OCTETS {
        return false;
    }
    let Some(decoded) = decode_base64(hash) else {
        return false;
    };
    match decoded.split_at_checked(LENGTH) {
        // As in slapd, there is a salt.
        Some((digest, salt)) if !salt.is_empty() => variant.digest(presented, salt).ct_eq(digest).into(),
        _ => false,
    }
}

/// `None`: such a password could not be verified.
pub(super) fn hash(
    variant: Variant,
    presented: &[u8],
    random: &mut dyn FnMut(&mut [u8]),
    out: &mut Vec<u8>,
) -> Option<()> {
    if presented.len() > MOST_OCTETS {
        return None;
    }
    let mut salt = [0; NEW_SALT_LENGTH];
    random(&mut salt);
    for octet in &mut salt {
        *octet = SALT_CHARACTERS.get(usize::from(*octet % 64)).copied().unwrap_or(b'.');
    }
    let octets = [&variant.digest(presented, &salt)[..], &salt].concat();
    out.extend_from_slice(STANDARD.encode(octets).as_bytes());
    Some(())
}
