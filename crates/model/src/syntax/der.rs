//! The parts of DER (X.690) that certificate syntaxes and rules need in addition to [`ironbark_ber`].

use ironbark_ber::{Reader, Tlv};

use super::{InvalidValue, require};

impl From<ironbark_ber::BerError> for InvalidValue {
    fn from(_: ironbark_ber::BerError) -> Self {
        Self
    }
}

/// The content of a value that consists of one element.
pub(crate) fn whole(value: &[u8], tag: u8) -> Result<Reader<'_>, InvalidValue> {
    let mut reader = Reader::new(value);
    let content = reader.nested(tag)?;
    reader.finish()?;
    Ok(content)
}

/// The content of the first element, and the octets behind it.
pub(crate) fn leading(value: &[u8], tag: u8) -> Result<(Reader<'_>, &[u8]), InvalidValue> {
    let mut reader = Reader::new(value);
    let content = reader.nested(tag)?;
    Ok((content, reader.remaining()))
}

/// The next element with its tag and length. It must have this tag.
pub(crate) fn raw<'a>(reader: &mut Reader<'a>, tag: u8) -> Result<&'a [u8], InvalidValue> {
    let found: Tlv<'a> = reader.read_any()?;
    require(found.is(tag))?;
    Ok(found.encoded)
}

/// The decimal text of an INTEGER's content; at most 64 octets.
pub(crate) fn integer_text(content: &[u8]) -> Result<String, InvalidValue> {
    require(!content.is_empty() && content.len() <= 64)?;
    let negative = content.first().is_some_and(|first| first & 0x80 != 0);
    // The magnitude, from two's complement.
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
