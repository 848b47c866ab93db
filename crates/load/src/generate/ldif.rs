//! Writes LDIF records (RFC 2849) into a large buffer; no allocation per attribute.

use super::password::{PasswordStorage, push_ssha};
use super::random::Random;
use std::io::{self, Write};

/// An LDIF stream: `dn`, attribute lines, `end`, and `finish` once.
pub(super) struct Ldif<'a, W: Write> {
    out: &'a mut W,
    progress: &'a mut dyn FnMut(u64),
    buffer: Vec<u8>,
    value: String,
    entries: u64,
    passwords: PasswordStorage,
}

impl<'a, W: Write> Ldif<'a, W> {
    /// Starts the stream, without a version line: slapadd would take that line for the first record.
    pub(super) fn new(out: &'a mut W, passwords: PasswordStorage, progress: &'a mut dyn FnMut(u64)) -> Self {
        Self {
            out,
            progress,
            buffer: Vec::new(),
            value: String::new(),
            entries: 0,
            passwords,
        }
    }

    /// How passwords are stored.
    pub(super) fn passwords(&self) -> PasswordStorage {
        self.passwords
    }

    /// `userPassword`. The generator is in the same state afterwards, whatever the form of the password.
    pub(super) fn password(&mut self, random: &mut Random, password: &str) {
        let form = self.passwords;
        self.compose("userPassword", |text| {
            if form == PasswordStorage::Plain {
                random.next();
                text.push_str(password);
            } else {
                push_ssha(text, random, password);
            }
        });
    }

    /// An attribute with its value, in base64 where LDIF needs it.
    pub(super) fn line(&mut self, attribute: &str, value: &str) {
        append(&mut self.buffer, attribute, value);
    }

    /// An attribute whose value `build` writes.
    pub(super) fn compose(&mut self, attribute: &str, build: impl FnOnce(&mut String)) {
        self.value.clear();
        build(&mut self.value);
        append(&mut self.buffer, attribute, &self.value);
    }

    /// Lines that many entries share, rendered once by [`block`].
    pub(super) fn raw(&mut self, lines: &[u8]) {
        self.buffer.extend_from_slice(lines);
    }

    /// Ends the record. Writes the buffer to the output when it is full.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        self.entries = self.entries.saturating_add(1);
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
            (self.progress)(self.entries);
        }
        Ok(())
    }

    /// Writes the rest and reports the final number of entries.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        (self.progress)(self.entries);
        self.out.flush()
    }
}

/// Renders constant lines for [`Ldif::raw`].
pub(super) fn block(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (attribute, value) in lines {
        append(&mut out, attribute, value);
    }
    out
}

/// Appends a number in decimal, padded with zeros up to `width` digits.
pub(super) fn push_number(text: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut rest = number;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        if rest == 0 && used >= width.max(1) {
            break;
        }
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        used += 1;
    }
    let tail = digits.get(digits.len() - used..).unwrap_or_default();
    text.extend(tail.iter().map(|digit| char::from(*digit)));
}

/// Appends a random UUID in its usual form (version 4).
pub(super) fn push_uuid(text: &mut String, random: &mut Random) {
    let bits = (u128::from(random.next()) << 64) | u128::from(random.next());
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    for position in 0..32_u32 {
        if matches!(position, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        let nibble = u32::try_from((bits >> (124 - 4 * position)) & 0xf).unwrap_or(0);
        text.push(char::from_digit(nibble, 16).unwrap_or('0'));
    }
}

/// Appends a random GeneralizedTime between two years (the second one excluded).
pub(super) fn push_time(text: &mut String, random: &mut Random, from_year: u64, to_year: u64) {
    push_number(text, from_year + random.below(to_year.saturating_sub(from_year)), 4);
    push_number(text, 1 + random.below(12), 2);
    push_number(text, 1 + random.below(28), 2);
    for limit in [24, 60, 60] {
        push_number(text, random.below(limit), 2);
    }
    text.push('Z');
}

/// Appends bytes in base64 with padding (RFC 4648 §4).
pub(super) fn push_base64(out: &mut impl Extend<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let mut group = 0_u32;
        for index in 0..3 {
            group = (group << 8) | u32::from(chunk.get(index).copied().unwrap_or(0));
        }
        for position in 0..4 {
            let digit = usize::try_from((group >> (18 - 6 * position)) & 0x3f).unwrap_or(0);
            let byte = if position > chunk.len() {
                b'='
            } else {
                BASE64.get(digit).copied().unwrap_or(b'=')
            };
            out.extend([byte]);
        }
    }
}

fn append(out: &mut Vec<u8>, attribute: &str, value: &str) {
    out.extend_from_slice(attribute.as_bytes());
    if is_safe(value) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
    } else {
        out.extend_from_slice(b":: ");
        push_base64(out, value.as_bytes());
    }
    out.push(b'\n');
}

/// RFC 2849 SAFE-STRING, and no space at the end.
fn is_safe(value: &str) -> bool {
    value.is_ascii()
        && !value.starts_with([' ', ':', '<'])
        && !value.ends_with(' ')
        && !value.bytes().any(|byte| matches!(byte, 0 | b'\n' | b'\r'))
}

const BUFFER_BYTES: usize = 1 << 18;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: u64, width: usize) -> String {
        let mut text = String::new();
        push_number(&mut text, value, width);
        text
    }

    #[test]
    fn numbers() {
        assert_eq!(number(0, 0), "0");
        assert_eq!(number(7, 3), "007");
        assert_eq!(number(12345, 2), "12345");
        assert_eq!(number(u64::MAX, 1), u64::MAX.to_string());
    }

    #[test]
    fn rfc_4648_vectors() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            push_base64(&mut out, plain.as_bytes());
            assert_eq!(out, encoded.as_bytes());
        }
    }

    #[test]
    fn unsafe_values_are_encoded() {
        assert_eq!(block(&[("cn", "Zoe")]), b"cn: Zoe\n");
        assert_eq!(block(&[("cn", "Zo\u{eb}")]), b"cn:: Wm/Dqw==\n");
        assert_eq!(block(&[("cn", " x")]), b"cn:: IHg=\n");
        assert_eq!(block(&[("cn", "a\nb")]), b"cn:: YQpi\n");
    }

    #[test]
    fn uuids_are_version_4() {
        let mut text = String::new();
        push_uuid(&mut text, &mut Random::for_entry(1, 1));
        assert_eq!(text.len(), 36);
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
    }
}
