//! `{NS-MTA-MD5}` (OpenLDAP's pw-netscape): 32 hexadecimal digits of MD5, then a salt of 32 octets. Values of
//! Netscape's mail server; no new ones are made.

use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

/// Of the digits, and of the salt.
const LENGTH: usize = 32;

pub(super) fn verify(hash: &[u8], presented: &[u8]) -> bool {
    let Some((stored, salt)) = hash.split_at_checked(LENGTH) else {
        return false;
    };
    if salt.len() != LENGTH {
        return false;
    }
    let digest = Md5::new()
        .chain_update(salt)
        .chain_update([0x59])
        .chain_update(presented)
        .chain_update([0xf7])
        .chain_update(salt)
        .finalize();
    let mut digits = Vec::with_capacity(LENGTH);
    for octet in digest {
        digits.extend([octet >> 4, octet & 15].map(|digit| b"0123456789abcdef".get(usize::from(digit)).copied()));
    }
    let digits: Vec<u8> = digits.into_iter().flatten().collect();
    digits.ct_eq(stored).into()
}
