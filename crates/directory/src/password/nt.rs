//! `{NT}` and 32 hexadecimal digits: MD4 of the password in UTF-16 (MS-NLMP §3.3.1, `NTOWFv1`), as in Samba and Active
//! Directory.

use md4::{Digest as _, Md4};
use subtle::ConstantTimeEq as _;

const LENGTH: usize = 16;

pub(super) fn verify(hash: &[u8], presented: &[u8]) -> bool {
    let (Ok(password), Some(stored)) = (std::str::from_utf8(presented), octets(hash.trim_ascii())) else {
        return false;
    };
    hash_of(password.encode_utf16()).ct_eq(&stored).into()
}

/// The hash of a password.
pub(super) fn hash_of(password: impl Iterator<Item = u16>) -> [u8; LENGTH] {
    let text: Vec<u8> = password.flat_map(u16::to_le_bytes).collect();
    Md4::digest(&text).into()
}

fn octets(digits: &[u8]) -> Option<[u8; LENGTH]> {
    if digits.len() != 2 * LENGTH || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let number = u128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some(number.to_be_bytes())
}
