//! Names in DER, as certificates hold them.

use std::fmt::Write;

use ironbark_ber::tags;
use smallvec::SmallVec;

use super::{
    Dn, InvalidDn, MAX_LENGTH,
    ber_value::{element, oid, value_text},
    build,
};
use crate::Schema;

/// Appends the RDNs of a `Name` in DER. Its first RDN is the topmost one.
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

/// A type that the schema does not know: `oid=#hex` (RFC 4514 §2.4). This text is its own normal form.
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
