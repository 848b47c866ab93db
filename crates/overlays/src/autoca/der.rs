//! Pieces of DER that certificates are made of.

use std::ops::ControlFlow;

use ironbark_ber::{Writer, tags};
use ironbark_model::{Dn, Schema};

pub(super) type Der<'o> = Writer<'o>;

pub(super) fn sequence(der: &mut Der<'_>, fill: impl FnOnce(&mut Der<'_>)) {
    der.constructed(tags::SEQUENCE, fill);
}

/// What `fill` writes.
pub(super) fn written(fill: impl FnOnce(&mut Der<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    fill(&mut Der::new(&mut out));
    out
}

/// An OID in dotted form.
pub(super) fn oid(der: &mut Der<'_>, dotted: &str) {
    let mut arcs = dotted.split('.').map(|arc| arc.parse::<u64>().unwrap_or_default());
    let first = arcs.next().unwrap_or_default() * 40 + arcs.next().unwrap_or_default();
    let mut content = Vec::new();
    for arc in std::iter::once(first).chain(arcs) {
        let groups = (64 - arc.leading_zeros()).div_ceil(7).max(1);
        for group in (0..groups).rev() {
            let more = if group == 0 { 0 } else { 0x80 };
            let bits = (arc >> (group * 7)) & 0x7f;
            content.push(u8::try_from(bits).unwrap_or_default() | more);
        }
    }
    der.element(tags::OBJECT_IDENTIFIER, &content);
}

/// A BIT STRING of whole octets but for `unused` bits at its end.
pub(super) fn bit_string(der: &mut Der<'_>, unused: u8, octets: &[u8]) {
    der.element(tags::BIT_STRING, &[&[unused], octets].concat());
}

/// The name of an entry as a `Name`. `None`: a value is no text.
pub(super) fn name(schema: &Schema, dn: &Dn) -> Option<Vec<u8>> {
    let mut rdns = Vec::new();
    for level in (0..dn.depth()).rev() {
        let mut assertions: Vec<Vec<u8>> = Vec::new();
        let whole = dn.visit_assertions(schema, level..level + 1, &mut |number, value| {
            let oid_text = &schema.attribute_type(number).oid;
            match assertion(oid_text, value) {
                Some(assertion) => {
                    assertions.push(assertion);
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            }
        });
        if whole.is_break() || assertions.is_empty() {
            return None;
        }
        // DER orders the elements of a set.
        assertions.sort();
        rdns.extend(written(|der| {
            der.constructed(tags::SET, |der| {
                der.raw(&assertions.concat());
            });
        }));
    }
    Some(written(|der| sequence(der, |der| der.raw(&rdns))))
}

fn assertion(oid_text: &str, value: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(value).ok()?;
    let tag = match oid_text {
        DOMAIN_COMPONENT | EMAIL if value.is_ascii() => tags::IA5_STRING,
        COUNTRY | SERIAL_NUMBER | DN_QUALIFIER if value.iter().all(|&byte| is_printable(byte)) => {
            tags::PRINTABLE_STRING
        }
        _ => tags::UTF8_STRING,
    };
    Some(written(|der| {
        sequence(der, |der| {
            oid(der, oid_text);
            der.element(tag, value);
        });
    }))
}

/// The characters of PrintableString.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte)
}

const DOMAIN_COMPONENT: &str = "0.9.2342.19200300.100.1.25";
const EMAIL: &str = "1.2.840.113549.1.9.1";
const COUNTRY: &str = "2.5.4.6";
const SERIAL_NUMBER: &str = "2.5.4.5";
const DN_QUALIFIER: &str = "2.5.4.46";
