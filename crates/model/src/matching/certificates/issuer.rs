//! Names inside certificates (RFC 5280 §4.1.2.4) as RFC 4514 text and in normal form.

use std::fmt::Write as _;

use crate::{
    Dn, Schema,
    stringprep::{Case, Insignificant, Prohibited, prepare},
    syntax::{
        InvalidValue,
        der::{self, Der},
    },
};

/// The text of a Name, from the content of its SEQUENCE: the last RDN first.
pub(super) fn text(schema: &Schema, name: &[u8]) -> Result<String, InvalidValue> {
    let mut rdns = Vec::new();
    let mut rest = Der(name);
    while !rest.is_empty() {
        let mut assertions = Der(rest.expect(der::SET)?);
        let mut text = String::new();
        while !assertions.is_empty() {
            let mut assertion = Der(assertions.expect(der::SEQUENCE)?);
            if !text.is_empty() {
                text.push('+');
            }
            let oid = der::oid_text(assertion.expect(der::OID)?)?;
            let (tag, value) = assertion.element()?;
            assertion.end()?;
            match schema.find_attribute_type(oid.as_bytes()) {
                Some(found) => text.push_str(found.name()),
                None => text.push_str(&oid),
            }
            text.push('=');
            put_value(tag, value, &mut text)?;
        }
        rdns.push(text);
    }
    rdns.reverse();
    Ok(rdns.join(","))
}

/// The value of a string type as text, escaped; of another type as `#` and hexadecimal digits.
fn put_value(tag: u8, value: &[u8], out: &mut String) -> Result<(), InvalidValue> {
    let characters: String = match tag {
        der::UTF8_STRING => std::str::from_utf8(value).map_err(|_| InvalidValue)?.to_owned(),
        der::PRINTABLE_STRING | der::IA5_STRING | der::NUMERIC_STRING if value.is_ascii() => {
            value.iter().map(|byte| char::from(*byte)).collect()
        }
        // Everybody writes Latin 1 in what X.509 calls Teletex.
        der::T61_STRING | der::PRINTABLE_STRING | der::IA5_STRING => {
            value.iter().map(|byte| char::from(*byte)).collect()
        }
        der::BMP_STRING => {
            let units = value
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |unit: u16, byte| unit << 8 | u16::from(*byte)));
            char::decode_utf16(units)
                .collect::<Result<_, _>>()
                .map_err(|_| InvalidValue)?
        }
        der::UNIVERSAL_STRING => value
            .chunks(4)
            .map(|unit| char::from_u32(unit.iter().fold(0, |code: u32, byte| code << 8 | u32::from(*byte))))
            .collect::<Option<_>>()
            .ok_or(InvalidValue)?,
        _ => {
            out.push('#');
            let length = value.len();
            let mut encoding = vec![tag];
            match u8::try_from(length) {
                Ok(short) if short < 0x80 => encoding.push(short),
                _ => {
                    let octets = length.to_be_bytes();
                    let start = octets.iter().position(|octet| *octet != 0).unwrap_or(0);
                    let octets = octets.get(start..).unwrap_or_default();
                    encoding.push(0x80 | u8::try_from(octets.len()).map_err(|_| InvalidValue)?);
                    encoding.extend_from_slice(octets);
                }
            }
            encoding.extend_from_slice(value);
            for octet in encoding {
                let _ = write!(out, "{octet:02x}");
            }
            return Ok(());
        }
    };
    let last = characters.chars().count().saturating_sub(1);
    for (position, character) in characters.chars().enumerate() {
        let edge_space = character == ' ' && (position == 0 || position == last);
        match character {
            '\0' => out.push_str("\\00"),
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' => {
                out.push('\\');
                out.push(character);
            }
            '#' if position == 0 => out.push_str("\\#"),
            ' ' if edge_space => out.push_str("\\ "),
            _ => out.push(character),
        }
    }
    Ok(())
}

/// The normal form of a name. Certificates come from outside: a name with types that the schema does not know is compared as
/// prepared text.
pub(super) fn normal_form(schema: &Schema, name: &str) -> Vec<u8> {
    if let Ok(dn) = Dn::parse(schema, name.as_bytes()) {
        return dn.normalized().to_vec();
    }
    let mut out = Vec::new();
    let prepared = prepare(
        name.as_bytes(),
        Case::Ignore,
        Insignificant::Spaces,
        Prohibited::Kept,
        &mut out,
    );
    debug_assert!(prepared.is_ok(), "the name is UTF-8");
    out
}

/// The normal form of a name in an assertion, which must look like one.
pub(super) fn asserted(schema: &Schema, name: &str) -> Result<Vec<u8>, InvalidValue> {
    if !name.is_empty() && !name.contains('=') {
        return Err(InvalidValue);
    }
    Ok(normal_form(schema, name))
}
