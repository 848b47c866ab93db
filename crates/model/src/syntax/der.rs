//! Reading DER (X.690) without copying: what certificate syntaxes and rules need.

use super::InvalidValue;

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;

/// A cursor over concatenated elements.
#[derive(Clone, Copy)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    /// Tag and content of the next element; tags over 30 and indefinite lengths are errors.
    pub(crate) fn element(&mut self) -> Result<(u8, &'a [u8]), InvalidValue> {
        let [tag, first, rest @ ..] = self.0 else {
            return Err(InvalidValue);
        };
        if tag & 0x1f == 0x1f {
            return Err(InvalidValue);
        }
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f)).ok_or(InvalidValue)?;
                let length = digits
                    .iter()
                    .fold(0, |length: usize, digit| length << 8 | usize::from(*digit));
                (length, rest)
            }
            _ => return Err(InvalidValue),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(InvalidValue)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    /// The content of the next element, which must have this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], InvalidValue> {
        match self.element()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(InvalidValue),
        }
    }

    /// The next element with its tag and length, which must have this tag.
    pub(crate) fn raw(&mut self, tag: u8) -> Result<&'a [u8], InvalidValue> {
        let before = self.0;
        self.expect(tag)?;
        before.get(..before.len() - self.0.len()).ok_or(InvalidValue)
    }

    /// The content of the next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, InvalidValue> {
        if self.0.first() == Some(&tag) {
            return self.expect(tag).map(Some);
        }
        Ok(None)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn end(self) -> Result<(), InvalidValue> {
        super::require(self.is_empty())
    }
}

/// The one element that a value consists of.
pub(crate) fn whole(value: &[u8], tag: u8) -> Result<Der<'_>, InvalidValue> {
    let mut der = Der(value);
    let content = der.expect(tag)?;
    der.end()?;
    Ok(Der(content))
}

/// The decimal text of an INTEGER's content; at most 64 octets.
pub(crate) fn integer_text(content: &[u8]) -> Result<String, InvalidValue> {
    super::require(!content.is_empty() && content.len() <= 64)?;
    let negative = content.first().is_some_and(|first| first & 0x80 != 0);
    // The magnitude, by two's complement.
    let mut magnitude: Vec<u8> = content
        .iter()
        .map(|octet| if negative { !octet } else { *octet })
        .collect();
    if negative {
        for octet in magnitude.iter_mut().rev() {
            let (sum, carry) = octet.overflowing_add(1);
            *octet = sum;
            if !carry {
                break;
            }
        }
    }
    Ok(decimal(magnitude, negative))
}

/// Repeated division of a big-endian number by ten.
pub(crate) fn decimal(mut magnitude: Vec<u8>, negative: bool) -> String {
    let mut digits = Vec::new();
    while magnitude.iter().any(|octet| *octet != 0) {
        let mut remainder: u16 = 0;
        for octet in &mut magnitude {
            let value = remainder << 8 | u16::from(*octet);
            *octet = u8::try_from(value / 10).unwrap_or(0);
            remainder = value % 10;
        }
        digits.push(char::from(b'0' + u8::try_from(remainder).unwrap_or(0)));
    }
    if digits.is_empty() {
        return "0".to_owned();
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}
