//! One-time passwords: HOTP (RFC 4226 §5). Those of TOTP are the same, with time steps as counters (RFC 6238 §4).

use hmac::{Hmac, KeyInit, Mac};

/// The digits of a one-time password, at most.
pub(crate) const MOST_DIGITS: usize = 8;

/// The function that makes them. RFC 4226 knows SHA-1; RFC 6238 §1.2 has SHA-256 and SHA-512 too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// By its OID (RFC 8018 appendix B.1).
    pub(crate) fn of_oid(oid: &[u8]) -> Option<Self> {
        Some(match oid {
            b"1.2.840.113549.2.7" => Self::Sha1,
            b"1.2.840.113549.2.8" => Self::Sha224,
            b"1.2.840.113549.2.9" => Self::Sha256,
            b"1.2.840.113549.2.10" => Self::Sha384,
            b"1.2.840.113549.2.11" => Self::Sha512,
            _ => return None,
        })
    }

    /// The last of some counters that makes this code. All of them are tried, so that the time does not tell which.
    pub(crate) fn counter_of(self, secret: &[u8], code: Code, counters: impl Iterator<Item = u64>) -> Option<u64> {
        match self {
            Self::Sha1 => counter_of::<Hmac<sha1::Sha1>>(secret, code, counters),
            Self::Sha224 => counter_of::<Hmac<sha2::Sha224>>(secret, code, counters),
            Self::Sha256 => counter_of::<Hmac<sha2::Sha256>>(secret, code, counters),
            Self::Sha384 => counter_of::<Hmac<sha2::Sha384>>(secret, code, counters),
            Self::Sha512 => counter_of::<Hmac<sha2::Sha512>>(secret, code, counters),
        }
    }
}

/// A one-time password as a client presents it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    value: u32,
    modulus: u32,
}

impl Code {
    /// Reads it. `None`: it is not made of digits, or there are too many of them.
    pub(crate) fn parse(digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            return None;
        }
        let mut code = Self { value: 0, modulus: 1 };
        for digit in digits {
            let digit = char::from(*digit).to_digit(10)?;
            code = Self {
                value: code.value * 10 + digit,
                modulus: code.modulus * 10,
            };
        }
        Some(code)
    }
}

fn counter_of<M: Mac + KeyInit + Clone>(secret: &[u8], code: Code, counters: impl Iterator<Item = u64>) -> Option<u64> {
    let keyed = <M as KeyInit>::new_from_slice(secret).ok()?;
    let mut found = None;
    for counter in counters {
        let mut mac = keyed.clone();
        mac.update(&counter.to_be_bytes());
        let number = truncated(&mac.finalize().into_bytes())?;
        if number % code.modulus == code.value {
            found = Some(counter);
        }
    }
    found
}

/// Dynamic truncation (RFC 4226 §5.3).
fn truncated(digest: &[u8]) -> Option<u32> {
    let offset = usize::from(digest.last()? & 0xf);
    let octets = digest.get(offset..)?.first_chunk()?;
    Some(u32::from_be_bytes(*octets) & 0x7fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(algorithm: Algorithm, secret: &[u8], digits: &str, counters: std::ops::Range<u64>) -> Option<u64> {
        algorithm.counter_of(secret, Code::parse(digits.as_bytes()).unwrap(), counters)
    }

    /// RFC 4226 appendix D.
    #[test]
    fn hotp_makes_the_codes_of_rfc_4226() {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
        ];
        for (number, code) in (0..).zip(codes) {
            assert_eq!(
                counter(Algorithm::Sha1, b"12345678901234567890", code, 0..10),
                Some(number)
            );
        }
    }

    /// RFC 6238 appendix B, with the secrets of erratum 2866.
    #[test]
    fn totp_makes_the_codes_of_rfc_6238() {
        let secret: Vec<u8> = b"1234567890".iter().copied().cycle().take(64).collect();
        let rows = [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ];
        for (time, sha1, sha256, sha512) in rows {
            let step = time / 30;
            let with = |algorithm, length, code| counter(algorithm, &secret[..length], code, step..step + 1);
            assert_eq!(with(Algorithm::Sha1, 20, sha1), Some(step));
            assert_eq!(with(Algorithm::Sha256, 32, sha256), Some(step));
            assert_eq!(with(Algorithm::Sha512, 64, sha512), Some(step));
        }
    }

    #[test]
    fn a_code_is_one_to_eight_ascii_digits() {
        for wrong in ["", "123456789", "12345x", "-12345", "+12345", " 12345", "\u{661}23"] {
            assert_eq!(Code::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(Code::parse(b"\xff\xfe0000"), None);
        // The number of digits counts: 7081804 is not 07081804.
        assert_eq!(
            counter(
                Algorithm::Sha1,
                b"12345678901234567890",
                "7081804",
                37_037_036..37_037_037
            ),
            Some(37_037_036)
        );
        assert_ne!(Code::parse(b"07081804"), Code::parse(b"7081804"));
    }

    #[test]
    fn algorithms_go_by_the_oids_of_rfc_8018() {
        assert_eq!(Algorithm::of_oid(b"1.2.840.113549.2.11"), Some(Algorithm::Sha512));
        assert_eq!(Algorithm::of_oid(b"1.2.840.113549.2.1"), None);
        assert_eq!(Algorithm::of_oid(b"1.2.840.113549.2.7 "), None);
    }
}
