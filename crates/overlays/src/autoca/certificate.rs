//! Certificates of X.509 version 3 (RFC 5280).

use core::net::IpAddr;

use ironbark_ber::{Reader, tags};
use ironbark_directory::stamp::generalized_time;
use sha1::{Digest, Sha1};

use super::{
    der::{self, Der},
    key::{Failed, Key},
};

/// For whom a certificate is.
pub(super) enum Purpose {
    Authority,
    /// With addresses of mail.
    User(Vec<String>),
    /// With addresses of the network.
    Server(Vec<IpAddr>),
}

/// What a certificate says.
pub(super) struct Content<'a> {
    /// A `Name`.
    pub(super) subject: &'a [u8],
    /// A `Name`.
    pub(super) issuer: &'a [u8],
    /// The identifier of the issuer's key.
    pub(super) issuer_key: &'a [u8],
    /// SubjectPublicKeyInfo.
    pub(super) public: &'a [u8],
    pub(super) serial: [u8; 8],
    /// Seconds since 1970, from when on it is valid.
    pub(super) begin: i64,
    pub(super) days: u32,
    pub(super) purpose: &'a Purpose,
}

/// A certificate, signed by the issuer's key.
///
/// # Errors
/// It cannot be signed.
pub(super) fn signed(content: &Content<'_>, key: &Key) -> Result<Vec<u8>, Failed> {
    let to_be_signed = der::written(|der| content.put(key, der));
    let signature = key.sign(&to_be_signed)?;
    Ok(der::written(|der| {
        der::sequence(der, |der| {
            der.raw(&to_be_signed);
            key.put_algorithm(der);
            der::bit_string(der, 0, &signature);
        });
    }))
}

/// The identifier of a key: the first method of RFC 5280 §4.2.1.2.
pub(super) fn key_identifier(public: &[u8]) -> Option<Vec<u8>> {
    let mut info = Reader::new(public).sequence().ok()?;
    info.skip().ok()?;
    let bits = info.element(tags::BIT_STRING).ok()?;
    Some(Sha1::digest(bits.get(1..)?).to_vec())
}

impl Content<'_> {
    fn put(&self, key: &Key, der: &mut Der<'_>) {
        // A positive number of 8 octets.
        let mut serial = self.serial;
        if let Some(first) = serial.first_mut() {
            *first = *first & 0x7f | 0x40;
        }
        der::sequence(der, |der| {
            der.constructed(tags::context_constructed(0), |der| der.integer(2));
            der.element(tags::INTEGER, &serial);
            key.put_algorithm(der);
            der.raw(self.issuer);
            der::sequence(der, |der| {
                put_time(der, self.begin);
                put_time(der, self.begin + i64::from(self.days) * 86_400);
            });
            der.raw(self.subject);
            der.raw(self.public);
            der.constructed(tags::context_constructed(3), |der| {
                der::sequence(der, |der| self.put_extensions(der));
            });
        });
    }

    fn put_extensions(&self, der: &mut Der<'_>) {
        if let Some(own) = key_identifier(self.public) {
            extension(der, "2.5.29.14", false, |der| der.octet_string(&own));
        }
        extension(der, "2.5.29.35", false, |der| {
            der::sequence(der, |der| der.element(tags::context(0), self.issuer_key));
        });
        let is_authority = matches!(self.purpose, Purpose::Authority);
        extension(der, "2.5.29.19", is_authority, |der| {
            der::sequence(der, |der| {
                if is_authority {
                    der.boolean(true);
                }
            });
        });
        // digitalSignature with cRLSign and keyCertSign; with nonRepudiation and keyEncipherment; with keyEncipherment.
        let (unused, usage, extended): (u8, u8, &[&str]) = match self.purpose {
            Purpose::Authority => (1, 0x86, &[]),
            Purpose::User(_) => (5, 0xe0, &[CLIENT, MAIL, CODE]),
            Purpose::Server(_) => (5, 0xa0, &[SERVER, CLIENT]),
        };
        extension(der, "2.5.29.15", true, |der| der::bit_string(der, unused, &[usage]));
        if !extended.is_empty() {
            extension(der, "2.5.29.37", false, |der| {
                der::sequence(der, |der| extended.iter().for_each(|usage| der::oid(der, usage)));
            });
        }
        let names = self.names();
        if !names.is_empty() {
            extension(der, "2.5.29.17", false, |der| der::sequence(der, |der| der.raw(&names)));
        }
    }

    /// The items of subjectAltName.
    fn names(&self) -> Vec<u8> {
        der::written(|der| match self.purpose {
            Purpose::Authority => {}
            Purpose::User(addresses) => {
                for address in addresses {
                    der.element(tags::context(1), address.as_bytes());
                }
            }
            Purpose::Server(addresses) => {
                for address in addresses {
                    match address {
                        IpAddr::V4(address) => der.element(tags::context(7), &address.octets()),
                        IpAddr::V6(address) => der.element(tags::context(7), &address.octets()),
                    }
                }
            }
        })
    }
}

fn extension(der: &mut Der<'_>, oid: &str, is_critical: bool, fill: impl FnOnce(&mut Der<'_>)) {
    let content = der::written(fill);
    der::sequence(der, |der| {
        der::oid(der, oid);
        if is_critical {
            der.boolean(true);
        }
        der.octet_string(&content);
    });
}

/// UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5).
fn put_time(der: &mut Der<'_>, seconds: i64) {
    let text = generalized_time::text(seconds);
    match text.get(2..) {
        Some(short) if text.as_str() < "2050" => der.element(tags::UTC_TIME, short.as_bytes()),
        _ => der.element(tags::GENERALIZED_TIME, text.as_bytes()),
    }
}

/// What of an authority's certificate goes into others.
pub(super) struct Issuer {
    /// Its name.
    pub(super) name: Vec<u8>,
    /// SubjectPublicKeyInfo.
    pub(super) public: Vec<u8>,
    /// The identifier of its key.
    pub(super) key: Vec<u8>,
}

impl Issuer {
    /// Reads a certificate. `None`: it is malformed.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let mut content = Reader::new(certificate).sequence().ok()?.sequence().ok()?;
        content.optional(tags::context_constructed(0)).ok()?;
        content.element(tags::INTEGER).ok()?;
        // The algorithm, the issuer and the times.
        for _ in 0..3 {
            content.element(tags::SEQUENCE).ok()?;
        }
        let mut next = || {
            let element = content.element(tags::SEQUENCE).ok()?;
            Some(der::written(|der| der.element(tags::SEQUENCE, element)))
        };
        let (name, public) = (next()?, next()?);
        let stated = content
            .nested(tags::context_constructed(3))
            .ok()
            .and_then(stated_identifier);
        let key = stated.or_else(|| key_identifier(&public))?;
        Some(Self { name, public, key })
    }
}

/// The identifier that an authority's certificate gives its key.
fn stated_identifier(mut extensions: Reader<'_>) -> Option<Vec<u8>> {
    let wanted = der::written(|der| der::oid(der, "2.5.29.14"));
    let mut all = extensions.sequence().ok()?;
    while let Ok(mut one) = all.sequence() {
        let oid = one.element(tags::OBJECT_IDENTIFIER).ok()?;
        if wanted.ends_with(oid) && wanted.len() == oid.len() + 2 {
            one.optional(tags::BOOLEAN).ok()?;
            let content = one.octet_string().ok()?;
            return Some(Reader::new(content).octet_string().ok()?.to_vec());
        }
    }
    None
}

const SERVER: &str = "1.3.6.1.5.5.7.3.1";
const CLIENT: &str = "1.3.6.1.5.5.7.3.2";
const CODE: &str = "1.3.6.1.5.5.7.3.3";
const MAIL: &str = "1.3.6.1.5.5.7.3.4";
