//! Salted SHA-1 passwords, `{SSHA}` (RFC 2307 §5.3 with a salt), as many directories hold them.

use super::ldif::push_base64;
use super::random::Random;
use crate::word::UnknownWord;
use sha1::{Digest, Sha1};
use std::str::FromStr;

/// How passwords are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PasswordStorage {
    /// `{SSHA}` for people, none for subscribers.
    #[default]
    Usual,
    /// `{SSHA}`.
    Ssha,
    /// In clear.
    Plain,
}

impl FromStr for PasswordStorage {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "usual" => Ok(Self::Usual),
            "ssha" => Ok(Self::Ssha),
            "plain" => Ok(Self::Plain),
            _ => Err(UnknownWord::new("form of passwords", text, "usual, ssha, plain")),
        }
    }
}

/// Appends the `{SSHA}` form of a password with an eight-byte salt.
pub(super) fn push_ssha(text: &mut String, random: &mut Random, password: &str) {
    let salt = random.next().to_be_bytes();
    let mut hash = Sha1::new();
    hash.update(password.as_bytes());
    hash.update(salt);
    let mut bytes = [0_u8; 28];
    for (to, from) in bytes.iter_mut().zip(hash.finalize().iter().chain(&salt)) {
        *to = *from;
    }
    text.push_str("{SSHA}");
    push_base64(&mut Ascii(text), &bytes);
}

/// A `String` to which base64 digits can be appended.
struct Ascii<'a>(&'a mut String);

impl Extend<u8> for Ascii<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes.into_iter().map(char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salted_value_has_the_usual_form() {
        let mut text = String::new();
        push_ssha(&mut text, &mut Random::for_entry(1, 1), "secret");
        assert!(text.starts_with("{SSHA}"));
        assert_eq!(text.len(), 6 + 40);
        assert!(text.ends_with("=="));
    }
}
