//! Session tracking (draft-wahl-ldap-session-03): tells the log for whom the client asks.

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// The origin of a request. The text is not trusted: no decision may depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionTracking<'a> {
    /// Address of the end user's host; may be empty. At most 128 octets.
    pub source_ip: &'a [u8],
    /// Name of the end user's host; may be empty. At most 65,536 octets.
    pub source_name: &'a [u8],
    /// OID that says what the identifier is. 1 to 1,024 octets.
    pub format_oid: &'a [u8],
    /// Identifier of the session or user; may be empty.
    pub identifier: &'a [u8],
}

impl<'a> SessionTracking<'a> {
    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut content = Reader::new(value).sequence()?;
        let tracking = Self {
            source_ip: content.octet_string()?,
            source_name: content.octet_string()?,
            format_oid: content.octet_string()?,
            identifier: content.octet_string()?,
        };
        content.finish()?;
        Ok(tracking)
    }

    /// The name of the identifier's format in logs: the draft's three formats by name, others by OID.
    pub fn format_name(&self) -> &'a [u8] {
        match self.format_oid {
            b"1.3.6.1.4.1.21008.108.63.1.1" => b"RADIUS-Acct-Session-Id",
            b"1.3.6.1.4.1.21008.108.63.1.2" => b"RADIUS-Acct-Multi-Session-Id",
            b"1.3.6.1.4.1.21008.108.63.1.3" => b"USERNAME",
            other => other,
        }
    }
}

impl ControlValue for SessionTracking<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(self.source_ip);
            writer.octet_string(self.source_name);
            writer.octet_string(self.format_oid);
            writer.octet_string(self.identifier);
        });
    }
}

impl<'a> RequestControl<'a> for SessionTracking<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        let tracking = Self::read(value).map_err(|_| DESCRIPTOR.malformed())?;
        let fault = if tracking.source_ip.len() > 128 {
            "sessionTracking.sessionSourceIp too long"
        } else if tracking.source_name.len() > 65_536 {
            "sessionTracking.sessionSourceName too long"
        } else if tracking.format_oid.is_empty() {
            "sessionTracking.formatOID empty"
        } else if tracking.format_oid.len() > 1024 {
            "sessionTracking.formatOID too long"
        } else if !is_numeric_oid(tracking.format_oid) {
            "sessionTracking.formatOID invalid"
        } else {
            return Ok(tracking);
        };
        Err(Fault::protocol(fault))
    }
}

/// Whether the octets are a `numericoid` (RFC 4512 §1.4).
fn is_numeric_oid(octets: &[u8]) -> bool {
    octets.split(|octet| *octet == b'.').all(|arc| match arc {
        [] => false,
        [b'0', _, ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    })
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.21008.108.63.1",
    name: "session tracking",
    operations: descriptor::ACCESSES_AND_BIND,
    extended_operations: descriptor::IDENTITY_OPERATIONS,
    criticality: Criticality::MustBeFalse {
        refusal: "sessionTracking criticality is TRUE",
    },
    value: ValueRule::NotEmpty,
    advertised: false,
    texts: texts!("sessionTracking control"),
};
