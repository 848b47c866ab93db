//! The syntax of a DN's text, without schema (RFC 4514 §3, RFC 2253 §4).

use smallvec::SmallVec;

use super::{
    InvalidDn, ber_value,
    escape::{ends_plain_text, is_space},
};
use crate::filter::hex_pair;

/// What follows an attribute value assertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Separator {
    /// `+`.
    Assertion,
    /// `,` or `;`.
    Rdn,
    /// The end of the text.
    End,
}

/// A value as written.
#[derive(Clone, Copy, Debug)]
pub(super) enum RawValue<'a> {
    /// Without escapes.
    Plain(&'a [u8]),
    /// With `\`.
    Escaped(&'a [u8]),
    /// The text between quotes, with `\`.
    Quoted(&'a [u8]),
    /// Digits after `#`.
    Hex(&'a [u8]),
}

pub(super) type Bytes = SmallVec<[u8; 128]>;

/// A decoded value.
pub(super) enum Decoded<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

impl std::ops::Deref for Decoded<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ava<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: RawValue<'a>,
    pub(super) separator: Separator,
}

/// Takes one assertion after the other from a text.
pub(super) struct Lexer<'a> {
    rest: &'a [u8],
    /// A separator was read, so that another assertion must follow.
    expected: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            expected: false,
        }
    }

    /// The next assertion; `None` at the end of the text.
    pub(super) fn next_ava(&mut self) -> Result<Option<Ava<'a>>, InvalidDn> {
        if self.rest.is_empty() && !self.expected {
            return Ok(None);
        }
        self.skip_spaces();
        let name = self.name()?;
        self.skip_spaces();
        self.take_byte(b'=')?;
        self.skip_spaces();
        let value = match self.rest.first() {
            Some(b'#') => self.hex()?,
            Some(b'"') => self.quoted()?,
            _ => self.string()?,
        };
        let separator = match self.rest.split_first() {
            None => Separator::End,
            Some((b'+', rest)) => {
                self.rest = rest;
                Separator::Assertion
            }
            Some((b',' | b';', rest)) => {
                self.rest = rest;
                Separator::Rdn
            }
            Some(_) => return Err(InvalidDn),
        };
        self.expected = separator != Separator::End;
        Ok(Some(Ava { name, value, separator }))
    }

    fn skip_spaces(&mut self) {
        self.take_while(is_space);
    }

    fn take_byte(&mut self, byte: u8) -> Result<(), InvalidDn> {
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(InvalidDn),
        }
    }

    fn take_while(&mut self, test: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().position(|&b| !test(b)).unwrap_or(self.rest.len());
        self.take(length)
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, rest) = self.rest.split_at(length);
        self.rest = rest;
        head
    }

    /// An attribute type. Options may follow; they are dropped, as in slapd.
    fn name(&mut self) -> Result<&'a [u8], InvalidDn> {
        let name = match self.rest.first() {
            Some(b) if b.is_ascii_digit() => self.take_while(|b| b.is_ascii_digit() || b == b'.'),
            Some(b) if b.is_ascii_alphabetic() => self.take_while(|b| b.is_ascii_alphanumeric() || b == b'-'),
            _ => return Err(InvalidDn),
        };
        if self.rest.first() == Some(&b';') {
            self.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b';'));
        }
        Ok(name)
    }

    fn hex(&mut self) -> Result<RawValue<'a>, InvalidDn> {
        self.take(1);
        let digits = self.take_while(|b| b.is_ascii_hexdigit());
        self.skip_spaces();
        if digits.is_empty() || !digits.len().is_multiple_of(2) {
            Err(InvalidDn)
        } else {
            Ok(RawValue::Hex(digits))
        }
    }

    fn quoted(&mut self) -> Result<RawValue<'a>, InvalidDn> {
        self.take(1);
        let mut at = 0;
        loop {
            match self.rest.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(0) | None => return Err(InvalidDn),
                Some(_) => at += 1,
            }
        }
        let inside = self.take(at);
        self.take(1);
        self.skip_spaces();
        Ok(RawValue::Quoted(inside))
    }

    fn string(&mut self) -> Result<RawValue<'a>, InvalidDn> {
        // Nearly all values have no special characters.
        let plain = self.rest.iter().position(|byte| ends_plain_text(*byte));
        let plain = plain.unwrap_or(self.rest.len());
        if matches!(self.rest.get(plain), None | Some(b',' | b';' | b'+')) {
            let raw = self.take(plain);
            let kept = raw.iter().rposition(|&byte| !is_space(byte)).map_or(0, |last| last + 1);
            return Ok(RawValue::Plain(raw.get(..kept).unwrap_or_default()));
        }
        self.string_with_escapes()
    }

    fn string_with_escapes(&mut self) -> Result<RawValue<'a>, InvalidDn> {
        let (mut at, mut kept) = (0, 0);
        while let Some(&byte) = self.rest.get(at) {
            match byte {
                b',' | b';' | b'+' => break,
                b'\\' => {
                    let next = self.rest.get(at + 1).copied().ok_or(InvalidDn)?;
                    at += if may_be_escaped(next) { 2 } else { 3 };
                    kept = at;
                }
                b'"' | b'<' | b'>' | 0 => return Err(InvalidDn),
                _ => {
                    at += 1;
                    if !is_space(byte) {
                        kept = at;
                    }
                }
            }
        }
        if at > self.rest.len() {
            return Err(InvalidDn);
        }
        let raw = self.take(at).get(..kept).unwrap_or_default();
        Ok(RawValue::Escaped(raw))
    }
}

impl<'a> RawValue<'a> {
    /// The value without its escapes; not empty.
    pub(super) fn decode(self) -> Result<Decoded<'a>, InvalidDn> {
        let decoded = match self {
            Self::Plain(bytes) => Decoded::Borrowed(bytes),
            Self::Escaped(raw) => Decoded::Owned(unescape(raw)?),
            Self::Quoted(raw) => Decoded::Owned(unquote(raw)),
            Self::Hex(digits) => {
                let ber: Bytes = digits
                    .chunks_exact(2)
                    .filter_map(|pair| hex_pair(pair.first().copied()?, pair.last().copied()?))
                    .collect();
                Decoded::Owned(ber_value::value_text(&ber).ok_or(InvalidDn)?)
            }
        };
        if decoded.is_empty() {
            Err(InvalidDn)
        } else {
            Ok(decoded)
        }
    }
}

fn unescape(raw: &[u8]) -> Result<Bytes, InvalidDn> {
    let mut plain = Bytes::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let first = bytes.next().ok_or(InvalidDn)?;
        if may_be_escaped(first) {
            plain.push(first);
        } else {
            let second = bytes.next().ok_or(InvalidDn)?;
            plain.push(hex_pair(first, second).ok_or(InvalidDn)?);
        }
    }
    Ok(plain)
}

/// Within quotes a `\` stands before any one character (RFC 1779 §2.3): there are no hexadecimal pairs.
fn unquote(raw: &[u8]) -> Bytes {
    let mut plain = Bytes::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'\\' {
            bytes.next().unwrap_or_default()
        } else {
            byte
        });
    }
    plain
}

fn may_be_escaped(byte: u8) -> bool {
    matches!(
        byte,
        b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';' | b'=' | b' ' | b'#'
    )
}
