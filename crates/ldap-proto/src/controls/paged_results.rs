//! Simple paged results (RFC 2696).

use ironbark_ber::{Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Request: page size and where to continue. Response: estimate of the total, or 0, and the next cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagedResults<'a> {
    /// Entries.
    pub size: u32,
    /// Opaque to clients; empty in the first request and in the last response.
    pub cookie: &'a [u8],
}

impl<'a> PagedResults<'a> {
    /// Decodes the value's content octets.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let (size, cookie) = read(value).map_err(|_| DESCRIPTOR.malformed())?;
        let size = u32::try_from(size).map_err(|_| Fault::protocol("paged results control size invalid"))?;
        Ok(Self { size, cookie })
    }
}

fn read(value: &[u8]) -> Result<(i32, &[u8]), ironbark_ber::BerError> {
    let mut content = Reader::new(value).sequence()?;
    Ok((content.integer()?, content.octet_string()?))
}

impl ControlValue for PagedResults<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.size));
            writer.octet_string(self.cookie);
        });
    }
}

impl<'a> RequestControl<'a> for PagedResults<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Self::decode_value(value)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.319",
    name: "paged results",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: Texts {
        malformed: "paged results control could not be decoded",
        ..texts!("paged results control")
    },
};
