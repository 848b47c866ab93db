//! Proxied authorization, version 2 (RFC 4370).

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// The identity to act as: an `authzId` (RFC 4513 §5.2.1.8); empty for anonymous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProxiedAuthorization<'a>(pub &'a [u8]);

impl ControlValue for ProxiedAuthorization<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0);
    }
}

impl<'a> RequestControl<'a> for ProxiedAuthorization<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self(value))
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.18",
    name: "proxied authorization",
    operations: descriptor::ACCESSES,
    extended_operations: descriptor::IDENTITY_OPERATIONS,
    criticality: Criticality::ShouldBeTrue {
        refusal: "proxied authorization criticality of FALSE not allowed",
    },
    value: ValueRule::Present,
    advertised: true,
    texts: Texts {
        absent: "proxy authorization control value absent",
        ..texts!("proxy authorization control")
    },
};
