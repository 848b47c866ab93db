//! X.509: certificates, revocation lists, pairs, attribute certificates, algorithms, private keys, and the assertions
//! about them (RFC 4523 §2, RFC 5280 §4.1 and §5.1, RFC 5755 §4.1, RFC 5208 §5).

use ironbark_ber::{Reader, tags};

use super::{InvalidValue, Syntax, der, gser::Gser, oid, require, text};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::der(oid::CERTIFICATE, "Certificate", certificate),
    Syntax::der(oid::CERTIFICATE_LIST, "Certificate List", certificate_list),
    Syntax::der("1.3.6.1.4.1.1466.115.121.1.10", "Certificate Pair", certificate_pair),
    Syntax::der(
        "1.3.6.1.4.1.1466.115.121.1.49",
        "Supported Algorithm",
        supported_algorithm,
    ),
    Syntax::der(
        oid::ATTRIBUTE_CERTIFICATE,
        "X.509 AttributeCertificate",
        attribute_certificate,
    ),
    // Values may have `;binary`, but slapd does not publish it as a requirement.
    Syntax {
        binary_transfer: true,
        ..Syntax::text(oid::PRIVATE_KEY, "PKCS#8 PrivateKeyInfo", private_key)
    },
    Syntax::text(
        oid::CERTIFICATE_EXACT_ASSERTION,
        "Certificate Exact Assertion",
        exact_assertion,
    )
    .hidden(),
    Syntax::text("1.3.6.1.1.15.2", "Certificate Assertion", gser_list).hidden(),
    Syntax::text("1.3.6.1.1.15.3", "Certificate Pair Exact Assertion", gser_list).hidden(),
    Syntax::text("1.3.6.1.1.15.4", "Certificate Pair Assertion", gser_list).hidden(),
    Syntax::text(
        oid::CERTIFICATE_LIST_EXACT_ASSERTION,
        "Certificate List Exact Assertion",
        gser_list,
    )
    .hidden(),
    Syntax::text("1.3.6.1.1.15.6", "Certificate List Assertion", gser_list).hidden(),
    Syntax::text("1.3.6.1.1.15.7", "Algorithm Identifier", gser_list).hidden(),
    Syntax::text(
        oid::ATTRIBUTE_CERTIFICATE_EXACT_ASSERTION,
        "AttributeCertificate Exact Assertion",
        gser_list,
    )
    .hidden(),
    Syntax::text(
        "1.3.6.1.4.1.4203.666.11.10.2.3",
        "AttributeCertificate Assertion",
        gser_list,
    )
    .hidden(),
];

/// The parts of a certificate that identify it.
#[derive(Clone, Copy, Debug)]
pub struct Certificate<'a> {
    /// Content of the INTEGER.
    pub serial: &'a [u8],
    /// DER of the Name.
    pub issuer: &'a [u8],
    /// DER of the Name.
    pub subject: &'a [u8],
}

/// The parts that `certificateListExactMatch` compares.
pub(crate) struct CertificateList<'a> {
    /// DER of the Name.
    pub(crate) issuer: &'a [u8],
    /// Tag and content of the Time.
    pub(crate) this_update: (u8, &'a [u8]),
}

/// The parts that `attributeCertificateExactMatch` compares.
pub(crate) struct AttributeCertificate<'a> {
    /// Content of the INTEGER.
    pub(crate) serial: &'a [u8],
    /// DER of the issuer's first directory name.
    pub(crate) issuer: &'a [u8],
}

/// As in slapd, one octet may follow: files of DER that were made from text end with a line end.
fn certificate(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let (_, behind) = Certificate::parse_leading(value)?;
    require(behind.len() <= 1)
}

impl<'a> Certificate<'a> {
    /// Reads the DER of a certificate (RFC 5280 §4.1).
    ///
    /// # Errors
    /// The value is not a certificate.
    pub fn parse(value: &'a [u8]) -> Result<Self, InvalidValue> {
        let (found, behind) = Self::parse_leading(value)?;
        require(behind.is_empty())?;
        Ok(found)
    }

    /// Reads the certificate that the value begins with. Returns the octets behind it, too.
    pub(crate) fn parse_leading(value: &'a [u8]) -> Result<(Self, &'a [u8]), InvalidValue> {
        let (mut outer, behind) = der::leading(value, tags::SEQUENCE)?;
        let mut inner = outer.sequence()?;
        signature(outer)?;
        let version = match inner.optional(0xa0)? {
            None => 0,
            Some(content) => match der::whole(content, tags::INTEGER)?.remaining() {
                [version @ 0..=2] => *version,
                _ => return Err(InvalidValue),
            },
        };
        let serial = inner.element(tags::INTEGER)?;
        algorithm(inner.sequence()?)?;
        let issuer = der::raw(&mut inner, tags::SEQUENCE)?;
        let mut validity = inner.sequence()?;
        time(&mut validity)?;
        time(&mut validity)?;
        validity.finish()?;
        let subject = der::raw(&mut inner, tags::SEQUENCE)?;
        let mut key = inner.sequence()?;
        algorithm(key.sequence()?)?;
        key.element(tags::BIT_STRING)?;
        let unique = [inner.optional(0x81)?, inner.optional(0x82)?];
        let extensions = inner.optional(0xa3)?;
        require(unique.iter().all(Option::is_none) || version > 0)?;
        require(extensions.is_none() || version == 2)?;
        inner.finish()?;
        require(!serial.is_empty())?;
        let found = Self {
            serial,
            issuer,
            subject,
        };
        Ok((found, behind))
    }
}

fn certificate_list(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    CertificateList::parse(value).map(|_| ())
}

impl<'a> CertificateList<'a> {
    /// Reads the list that the value begins with. As in slapd, octets behind it are ignored.
    pub(crate) fn parse(value: &'a [u8]) -> Result<Self, InvalidValue> {
        let (mut outer, _) = der::leading(value, tags::SEQUENCE)?;
        let mut inner = outer.sequence()?;
        signature(outer)?;
        inner.optional(tags::INTEGER)?;
        algorithm(inner.sequence()?)?;
        let issuer = der::raw(&mut inner, tags::SEQUENCE)?;
        let this_update = time(&mut inner)?;
        if matches!(inner.peek(), Some(tags::UTC_TIME | tags::GENERALIZED_TIME)) {
            time(&mut inner)?;
        }
        inner.optional(tags::SEQUENCE)?;
        inner.optional(0xa0)?;
        inner.finish()?;
        Ok(Self { issuer, this_update })
    }
}

/// `SEQUENCE { [0] Certificate OPTIONAL, [1] Certificate OPTIONAL }`, at least one of them.
fn certificate_pair(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut pair = der::whole(value, tags::SEQUENCE)?;
    let found = [pair.optional(0xa0)?, pair.optional(0xa1)?];
    pair.finish()?;
    require(found.iter().any(Option::is_some))?;
    for certificate in found.into_iter().flatten() {
        Certificate::parse(certificate)?;
    }
    Ok(())
}

/// `SEQUENCE { algorithm, [0] usage OPTIONAL, [1] policies OPTIONAL }`.
fn supported_algorithm(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut found = der::whole(value, tags::SEQUENCE)?;
    algorithm(found.sequence()?)?;
    found.optional(0xa0)?;
    found.optional(0xa1)?;
    Ok(found.finish()?)
}

fn attribute_certificate(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    AttributeCertificate::parse(value).map(|_| ())
}

impl<'a> AttributeCertificate<'a> {
    pub(crate) fn parse(value: &'a [u8]) -> Result<Self, InvalidValue> {
        let mut outer = der::whole(value, tags::SEQUENCE)?;
        let mut inner = outer.sequence()?;
        signature(outer)?;
        inner.element(tags::INTEGER)?;
        inner.element(tags::SEQUENCE)?;
        // Version 2 wraps the issuer's general names in [0] V2Form.
        let mut issuer = match inner.nested_any()? {
            (0xa0, mut content) => content.sequence()?,
            (tags::SEQUENCE, content) => content,
            _ => return Err(InvalidValue),
        };
        algorithm(inner.sequence()?)?;
        let serial = inner.element(tags::INTEGER)?;
        let mut validity = inner.sequence()?;
        validity.element(tags::GENERALIZED_TIME)?;
        validity.element(tags::GENERALIZED_TIME)?;
        validity.finish()?;
        inner.element(tags::SEQUENCE)?;
        inner.optional(tags::BIT_STRING)?;
        inner.optional(tags::SEQUENCE)?;
        inner.finish()?;
        while !issuer.is_empty() {
            if let (0xa4, mut name) = issuer.nested_any()? {
                let issuer = der::raw(&mut name, tags::SEQUENCE)?;
                return Ok(Self { serial, issuer });
            }
        }
        Err(InvalidValue)
    }
}

/// `SEQUENCE { version, algorithm, key OCTET STRING, [0] attributes OPTIONAL, [1] public key OPTIONAL }`.
fn private_key(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut key = der::whole(value, tags::SEQUENCE)?;
    key.element(tags::INTEGER)?;
    algorithm(key.sequence()?)?;
    key.element(tags::OCTET_STRING)?;
    key.optional(0xa0)?;
    key.optional(0x81)?;
    Ok(key.finish()?)
}

/// Algorithm and bits after the signed part.
fn signature(mut rest: Reader<'_>) -> Result<(), InvalidValue> {
    algorithm(rest.sequence()?)?;
    rest.element(tags::BIT_STRING)?;
    Ok(rest.finish()?)
}

fn algorithm(mut content: Reader<'_>) -> Result<(), InvalidValue> {
    content.element(tags::OBJECT_IDENTIFIER)?;
    if !content.is_empty() {
        content.skip()?;
    }
    Ok(content.finish()?)
}

fn time<'a>(reader: &mut Reader<'a>) -> Result<(u8, &'a [u8]), InvalidValue> {
    match reader.nested_any()? {
        (tag @ (tags::UTC_TIME | tags::GENERALIZED_TIME), content) => Ok((tag, content.remaining())),
        _ => Err(InvalidValue),
    }
}

/// `serial$issuer` or the GSER form.
fn exact_assertion(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let text = text(value)?;
    if text.trim_start().starts_with('{') {
        return Gser::parse(text)?.fields().map(|_| ());
    }
    require(text.split_once('$').is_some_and(|(serial, _)| !serial.is_empty()))
}

fn gser_list(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    Gser::parse(text(value)?)?.fields().map(|_| ())
}
