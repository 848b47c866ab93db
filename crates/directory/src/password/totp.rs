//! `{TOTP1}`, `{TOTP256}`, `{TOTP512}`: a key in base32 (RFC 4648 §6), whose codes are passwords (RFC 6238). With
//! `ANDPW`, a bar and another stored password follow: the password is presented before the code.
//!
//! A code must count once, so these values verify nothing by themselves: overlay totp finds the code in a simple bind,
//! and the writer compares the rest.

use super::{digest, error::HashError};

/// The hash function of the codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// What makes up the password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// The code alone.
    Code,
    /// A password, and the code behind it.
    PasswordAndCode,
}

/// A stored value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredKey<'a> {
    /// The hash function of the codes.
    pub function: Function,
    /// The key; never empty.
    pub key: Vec<u8>,
    /// The stored password that must be presented before the code. `None`: nothing may stand there.
    pub password: Option<&'a [u8]>,
}

/// The digits of a code.
pub const DIGITS: usize = 6;
/// The time for which a code is valid, in seconds.
pub const STEP_S: i64 = 30;

/// Reads what follows the scheme. `None`: it is malformed, or has no key.
pub(super) fn read(function: Function, parts: Parts, value: &[u8]) -> Option<StoredKey<'_>> {
    let (key, password) = match parts {
        Parts::Code => (value, None),
        Parts::PasswordAndCode => {
            let bar = memchr::memchr(BAR, value)?;
            (value.get(..bar)?, Some(value.get(bar + 1..)?))
        }
    };
    let key = decode(key).filter(|key| !key.is_empty())?;
    Some(StoredKey {
        function,
        key,
        password,
    })
}

/// Makes a value: the password is the key; with `ANDPW`, what stands before a bar is the key, and the rest is hashed as
/// slapd does, by `{SSHA}`.
pub(super) fn hash(
    parts: Parts,
    presented: &[u8],
    salt: &mut dyn FnMut(&mut [u8]),
    out: &mut Vec<u8>,
) -> Result<(), HashError> {
    let (key, password) = match parts {
        Parts::Code => (presented, None),
        Parts::PasswordAndCode => {
            let bar = memchr::memchr(BAR, presented).ok_or(HashError::Failed)?;
            let split = presented.get(..bar).zip(presented.get(bar + 1..));
            let (key, password) = split.ok_or(HashError::Failed)?;
            (key, Some(password))
        }
    };
    encode(key, out);
    if let Some(password) = password {
        out.push(BAR);
        out.extend_from_slice(b"{SSHA}");
        digest::hash(digest::Algorithm::Sha1, digest::Salting::Salted, password, salt, out);
    }
    Ok(())
}

/// Between the key and the other password.
const BAR: u8 = b'|';
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Five bits a character; padding may be left out. `None`: another character, a wrong length, or bits that are left.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|octet| *octet == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at_checked(end)?;
    let is_padded = !padding.is_empty();
    if padding.iter().any(|octet| *octet != b'=') || (is_padded && !text.len().is_multiple_of(8)) || padding.len() > 6 {
        return None;
    }
    let mut octets = Vec::with_capacity(digits.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in digits {
        let value = ALPHABET.iter().position(|known| known == digit)?;
        bits = bits << 5 | u32::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            octets.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
        bits &= (1 << count) - 1;
    }
    (bits == 0 && count < 5).then_some(octets)
}

fn encode(octets: &[u8], out: &mut Vec<u8>) {
    for chunk in octets.chunks(5) {
        let mut bits = 0_u64;
        for place in 0..5 {
            bits = bits << 8 | u64::from(chunk.get(place).copied().unwrap_or_default());
        }
        let digits = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let value = usize::try_from(bits >> (35 - 5 * place) & 31).unwrap_or_default();
            let digit = ALPHABET.get(value).filter(|_| place < digits);
            out.push(digit.copied().unwrap_or(b'='));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 §10.
    #[test]
    fn base32_is_that_of_the_rfc() {
        for (clear, text) in [
            ("", ""),
            ("f", "MY======"),
            ("fo", "MZXQ===="),
            ("foo", "MZXW6==="),
            ("foob", "MZXW6YQ="),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI======"),
        ] {
            let mut out = Vec::new();
            encode(clear.as_bytes(), &mut out);
            assert_eq!(out, text.as_bytes());
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(clear.as_bytes()));
            let bare = text.trim_end_matches('=');
            assert_eq!(decode(bare.as_bytes()).as_deref(), Some(clear.as_bytes()));
        }
        for wrong in [
            "M",
            "MZ",
            "MZXW6YTBO",
            "my======",
            "MY=====",
            "MY======A",
            "M1======",
            "========",
            "MY=A====",
        ] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_value_is_a_key_and_perhaps_a_password() {
        let read_key = |parts, value: &'static str| {
            let stored = read(Function::Sha1, parts, value.as_bytes())?;
            Some((stored.key, stored.password))
        };
        assert_eq!(read_key(Parts::Code, "MZXW6YTB"), Some((b"fooba".to_vec(), None)));
        assert_eq!(
            read_key(Parts::PasswordAndCode, "MZXW6YTB|{SSHA}a|b"),
            Some((b"fooba".to_vec(), Some(&b"{SSHA}a|b"[..])))
        );
        for (parts, wrong) in [
            (Parts::Code, ""),
            (Parts::Code, "MZXW6YTB|x"),
            (Parts::PasswordAndCode, "MZXW6YTB"),
            (Parts::PasswordAndCode, "|x"),
        ] {
            assert_eq!(read_key(parts, wrong), None, "{wrong}");
        }
        let mut out = Vec::new();
        assert_eq!(
            hash(
                Parts::PasswordAndCode,
                b"fooba|secret",
                &mut |salt| salt.fill(1),
                &mut out
            ),
            Ok(())
        );
        assert!(out.starts_with(b"MZXW6YTB|{SSHA}"));
        assert_eq!(
            hash(Parts::PasswordAndCode, b"secret", &mut |_| {}, &mut out),
            Err(HashError::Failed)
        );
    }
}
