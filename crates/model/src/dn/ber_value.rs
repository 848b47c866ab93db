//! Values written as `#hex`: the text of a BER value.

use std::fmt::Write;

use ironbark_ber::{Reader, tags};
use smallvec::SmallVec;

use super::lexer::Bytes;

/// One element: its identifier octet, its content, and the rest of the data. Elements with tag numbers above 30 are not
/// recognized: their first octet differs from all that are read here.
pub(super) fn element(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let mut reader = Reader::new(data);
    let element = reader.read_any().ok()?;
    Some((*element.encoded.first()?, element.content, reader.remaining()))
}

/// The LDAP string of a BER value as `#hex` writes it; `None` for types that have none.
pub(super) fn value_text(ber: &[u8]) -> Option<Bytes> {
    let (identifier, content, rest) = element(ber)?;
    if !rest.is_empty() {
        return None;
    }
    let mut text = String::new();
    match identifier {
        tags::OCTET_STRING
        | tags::UTF8_STRING
        | tags::NUMERIC_STRING
        | tags::PRINTABLE_STRING
        | tags::IA5_STRING
        | tags::UTC_TIME
        | tags::GENERALIZED_TIME
        | tags::VISIBLE_STRING => return Some(Bytes::from_slice(content)),
        // In practice Latin-1.
        tags::TELETEX_STRING => text.extend(content.iter().map(|&octet| char::from(octet))),
        tags::UNIVERSAL_STRING => {
            for unit in content.chunks(4) {
                text.push(char::from_u32(u32::from_be_bytes(unit.try_into().ok()?))?);
            }
        }
        tags::BMP_STRING => {
            let units = content
                .chunks(2)
                .map(|unit| Some(u16::from_be_bytes(unit.try_into().ok()?)));
            let units: SmallVec<[u16; 64]> = units.collect::<Option<_>>()?;
            text.extend(
                char::decode_utf16(units)
                    .collect::<Result<SmallVec<[char; 64]>, _>>()
                    .ok()?,
            );
        }
        tags::BOOLEAN if content.len() == 1 => text.push_str(if content == [0] { "FALSE" } else { "TRUE" }),
        tags::INTEGER => integer(content, &mut text)?,
        tags::BIT_STRING => bit_string(content, &mut text)?,
        tags::OBJECT_IDENTIFIER => oid(content, &mut text)?,
        _ => return None,
    }
    Some(Bytes::from_slice(text.as_bytes()))
}

fn integer(content: &[u8], text: &mut String) -> Option<()> {
    if content.is_empty() || content.len() > 16 {
        return None;
    }
    let negative = content.first().is_some_and(|octet| octet & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    let value = content
        .iter()
        .fold(start, |value: i128, &octet| value << 8 | i128::from(octet));
    write!(text, "{value}").ok()
}

fn bit_string(content: &[u8], text: &mut String) -> Option<()> {
    let (&unused, octets) = content.split_first()?;
    let bits = (octets.len() * 8)
        .checked_sub(usize::from(unused))
        .filter(|_| unused < 8)?;
    text.push('\'');
    for bit in 0..bits {
        let octet = octets.get(bit / 8)?;
        text.push(if octet >> (7 - bit % 8) & 1 == 1 { '1' } else { '0' });
    }
    text.push_str("'B");
    Some(())
}

/// Appends the dotted-decimal form of an OID.
pub(super) fn oid(content: &[u8], text: &mut String) -> Option<()> {
    let (mut arc, mut first, mut open) = (0_u64, true, true);
    for &octet in content {
        arc = arc.checked_mul(128)? | u64::from(octet & 0x7f);
        open = octet & 0x80 != 0;
        if open {
            continue;
        }
        if first {
            let root = (arc / 40).min(2);
            write!(text, "{root}.{}", arc - root * 40).ok()?;
            first = false;
        } else {
            write!(text, ".{arc}").ok()?;
        }
        arc = 0;
    }
    if open { None } else { Some(()) }
}
