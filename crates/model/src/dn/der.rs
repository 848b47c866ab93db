//! DER within names: values written as `#hex`, and the names of certificates.

use std::fmt::Write;

use ironbark_ber::{Reader, tags};
use smallvec::SmallVec;

use super::{Dn, InvalidDn, MAX_LENGTH, build, lexer::Bytes};
use crate::Schema;

/// One element: identifier octet, content, and what follows it. Tag numbers above 30 have another first octet than any that is read.
fn element(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
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
fn oid(content: &[u8], text: &mut String) -> Option<()> {
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

/// Appends the RDNs of the DER of a `Name`, which has the topmost RDN first.
pub(super) fn parse_rdn_sequence(dn: &mut Dn, schema: &Schema, der: &[u8]) -> Result<(), InvalidDn> {
    if der.len() > MAX_LENGTH {
        return Err(InvalidDn);
    }
    let (tags::SEQUENCE, mut rest, []) = element(der).ok_or(InvalidDn)? else {
        return Err(InvalidDn);
    };
    let mut sets: SmallVec<[&[u8]; 8]> = SmallVec::new();
    while !rest.is_empty() {
        let (identifier, content, next) = element(rest).ok_or(InvalidDn)?;
        if identifier != tags::SET {
            return Err(InvalidDn);
        }
        sets.push(content);
        rest = next;
    }
    for set in sets.iter().rev() {
        let start = dn.begin_rdn()?;
        push_rdn(dn, schema, set)?;
        dn.end_rdn(start)?;
    }
    Ok(())
}

/// The types as text and the values as DER, sorted by the name that is printed.
fn push_rdn(dn: &mut Dn, schema: &Schema, set: &[u8]) -> Result<(), InvalidDn> {
    let mut assertions: SmallVec<[(String, &[u8]); 2]> = SmallVec::new();
    let mut rest = set;
    while !rest.is_empty() {
        let (identifier, assertion, next) = element(rest).ok_or(InvalidDn)?;
        let (tags::OBJECT_IDENTIFIER, content, value) = element(assertion).ok_or(InvalidDn)? else {
            return Err(InvalidDn);
        };
        let mut name = String::new();
        oid(content, &mut name)
            .filter(|()| identifier == tags::SEQUENCE)
            .ok_or(InvalidDn)?;
        if let Some(attribute) = schema.find_attribute_type(name.as_bytes()) {
            name.replace_range(.., attribute.name());
        }
        assertions.push((name, value));
        rest = next;
    }
    assertions.sort();
    if assertions.is_empty()
        || assertions
            .iter()
            .zip(assertions.iter().skip(1))
            .any(|(a, b)| a.0 == b.0)
    {
        return Err(InvalidDn);
    }
    for (index, (name, value)) in assertions.iter().enumerate() {
        match schema.find_attribute_type(name.as_bytes()) {
            Some(attribute) => {
                let text = value_text(value).ok_or(InvalidDn)?;
                build::push_assertion(dn, schema, index, attribute, &text, 0)?;
            }
            None => push_unknown(dn, index, name, value),
        }
    }
    Ok(())
}

/// A type that the schema does not know: `oid=#hex` (RFC 4514 §2.4), which is its own normal form.
fn push_unknown(dn: &mut Dn, index: usize, name: &str, value: &[u8]) {
    let start = dn.pretty.len();
    if index > 0 {
        dn.pretty.push('+');
    }
    dn.pretty.push_str(name);
    dn.pretty.push_str("=#");
    for octet in value {
        let _ = write!(dn.pretty, "{octet:02x}");
    }
    dn.normalized
        .extend_from_slice(dn.pretty.get(start..).unwrap_or_default().as_bytes());
}
