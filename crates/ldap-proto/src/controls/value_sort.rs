//! Value sort (OpenLDAP's slapo-valsort(5)): whether a search gets values as they are stored.

use ironbark_ber::{Reader, Writer};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// What a search asks of overlay valsort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueSort {
    /// Return values as they are stored, with their weights, in their order.
    pub raw: bool,
}

impl ControlValue for ValueSort {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(ironbark_ber::tags::SEQUENCE, |writer| writer.boolean(self.raw));
    }
}

impl RequestControl<'_> for ValueSort {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        let raw = Reader::new(value).sequence().and_then(|mut content| content.boolean());
        raw.map(|raw| Self { raw }).map_err(|_| DESCRIPTOR.malformed())
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.666.5.14",
    name: "valSort",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: false,
    texts: Texts {
        malformed: "valSort control: flag decoding error",
        ..texts!("valSort control")
    },
};
