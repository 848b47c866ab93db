//! certificateExactMatch, certificateListExactMatch and attributeCertificateExactMatch (RFC 4523 §2.5, X.509 §11.3).
//!
//! Normal form: serial number in decimal (or time of the list), `$`, normal form of the issuer's name. A value is a
//! certificate or already an assertion. Assertions come in GSER (`{ serialNumber 1, issuer rdnSequence:"cn=ca" }`) or
//! as `1$cn=ca`.

use ironbark_ber::tags;

use super::{MatchingRule, time};
use crate::{
    Schema,
    syntax::{
        AttributeCertificate, Certificate, CertificateList, InvalidValue, der, gser::Gser, integer_parts, oid,
        uuid::hex_digit,
    },
};

mod issuer;

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::equality(
        "2.5.13.45",
        "attributeCertificateExactMatch",
        oid::ATTRIBUTE_CERTIFICATE_EXACT_ASSERTION,
        attribute_certificate,
        &[oid::ATTRIBUTE_CERTIFICATE],
    )
    .with_assertion(attribute_certificate_assertion)
    .checked_by_normalizing()
    .hidden(),
    MatchingRule::equality(
        "2.5.13.38",
        "certificateListExactMatch",
        oid::CERTIFICATE_LIST_EXACT_ASSERTION,
        certificate_list,
        &[oid::CERTIFICATE_LIST],
    )
    .with_assertion(certificate_list_assertion)
    .checked_by_normalizing(),
    MatchingRule::equality(
        "2.5.13.34",
        "certificateExactMatch",
        oid::CERTIFICATE_EXACT_ASSERTION,
        certificate_or_assertion,
        // Attributes of the assertion syntax hold serial number and issuer of a certificate that is stored elsewhere.
        &[oid::CERTIFICATE, oid::CERTIFICATE_EXACT_ASSERTION],
    )
    .checked_by_normalizing(),
];

fn serial_and_issuer(schema: &Schema, serial: &[u8], issuer: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let serial = der::integer_text(serial)?;
    undone_on_error(out, |out| {
        out.extend_from_slice(serial.as_bytes());
        out.push(b'$');
        issuer::of_certificate(schema, issuer, out)
    })
}

/// Removes the output of a failed step.
fn undone_on_error(
    out: &mut Vec<u8>,
    step: impl FnOnce(&mut Vec<u8>) -> Result<(), InvalidValue>,
) -> Result<(), InvalidValue> {
    let start = out.len();
    let result = step(out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Values are certificates or assertions. The same holds for assertions of compare requests and value deletions.
fn certificate_or_assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.first() == Some(&tags::SEQUENCE)
        && let Ok((found, _)) = Certificate::parse_leading(value)
    {
        return serial_and_issuer(schema, found.serial, found.issuer, out);
    }
    let text = std::str::from_utf8(value).map_err(|_| InvalidValue)?;
    if !text.trim_start().starts_with('{') {
        let (serial, issuer) = text.split_once('$').ok_or(InvalidValue)?;
        let serial = serial_number(serial.trim())?;
        return put(schema, &serial, issuer.trim(), out);
    }
    let found = Gser::parse(text)?;
    let serial = serial_number(found.field("serialNumber")?.ok_or(InvalidValue)?.word()?)?;
    let issuer = issuer_name(&found)?;
    put(schema, &serial, issuer, out)
}

/// `issuer rdnSequence:"cn=ca"`; slapd also takes the name without its choice.
fn issuer_name<'g>(found: &'g Gser<'_>) -> Result<&'g str, InvalidValue> {
    let issuer = found.field("issuer")?.ok_or(InvalidValue)?;
    issuer.choice("rdnSequence").unwrap_or(issuer).text()
}

fn put(schema: &Schema, first: &str, issuer: &str, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    undone_on_error(out, |out| {
        out.extend_from_slice(first.as_bytes());
        out.push(b'$');
        issuer::asserted(schema, issuer, out)
    })
}

/// A decimal number, or `'0f'H`.
fn serial_number(text: &str) -> Result<String, InvalidValue> {
    let Some(digits) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix("'H")) else {
        integer_parts(text.as_bytes())?;
        return Ok(text.to_owned());
    };
    let mut octets = Vec::with_capacity(digits.len() / 2 + 1);
    for pair in digits.as_bytes().rchunks(2) {
        octets.push(pair.iter().try_fold(0, |octet: u8, digit| {
            Ok::<_, InvalidValue>(octet << 4 | hex_digit(*digit)?)
        })?);
    }
    octets.reverse();
    if octets.is_empty() || octets.len() > 64 {
        return Err(InvalidValue);
    }
    Ok(der::decimal(octets, false))
}

fn certificate_list(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let found = CertificateList::parse(value)?;
    let (tag, digits) = found.this_update;
    undone_on_error(out, |out| {
        put_time(schema, tag == tags::UTC_TIME, digits, out)?;
        out.push(b'$');
        issuer::of_certificate(schema, found.issuer, out)
    })
}

/// The time with its century (RFC 5280 §4.1.2.5.1), as generalizedTimeMatch normalizes it.
fn put_time(schema: &Schema, short_year: bool, digits: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if !short_year {
        return time::normalize(schema, digits, out);
    }
    let century: &[u8] = if matches!(digits.first(), Some(b'5'..=b'9')) {
        b"19"
    } else {
        b"20"
    };
    time::normalize(schema, &[century, digits].concat(), out)
}

fn certificate_list_assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.first() == Some(&tags::SEQUENCE)
        && let Ok(()) = certificate_list(schema, value, out)
    {
        return Ok(());
    }
    let found = Gser::parse(std::str::from_utf8(value).map_err(|_| InvalidValue)?)?;
    let issuer = issuer_name(&found)?;
    let update = found.field("thisUpdate")?.ok_or(InvalidValue)?;
    // slapd writes the time without its choice.
    let (update, short_year) = match update {
        Gser::Choice("utcTime", inner) => (inner.text()?, true),
        Gser::Choice("generalizedTime", inner) => (inner.text()?, false),
        other => {
            let text = other.text()?;
            (text, text.len() == 13)
        }
    };
    undone_on_error(out, |out| {
        put_time(schema, short_year, update.as_bytes(), out)?;
        out.push(b'$');
        issuer::asserted(schema, issuer, out)
    })
}

fn attribute_certificate(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let found = AttributeCertificate::parse(value)?;
    serial_and_issuer(schema, found.serial, found.issuer, out)
}

/// `{ serialNumber 1, issuer { issuerName { directoryName:rdnSequence:"cn=ca" } } }`.
fn attribute_certificate_assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.first() == Some(&tags::SEQUENCE)
        && let Ok(()) = attribute_certificate(schema, value, out)
    {
        return Ok(());
    }
    let found = Gser::parse(std::str::from_utf8(value).map_err(|_| InvalidValue)?)?;
    let serial = serial_number(found.field("serialNumber")?.ok_or(InvalidValue)?.word()?)?;
    let names = found
        .field("issuer")?
        .ok_or(InvalidValue)?
        .field("issuerName")?
        .ok_or(InvalidValue)?
        .fields()?;
    let (_, name) = names.first().ok_or(InvalidValue)?;
    let issuer = name.choice("directoryName")?.choice("rdnSequence")?.text()?;
    put(schema, &serial, issuer, out)
}
