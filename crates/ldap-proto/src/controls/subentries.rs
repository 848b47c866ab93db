//! Subentries (RFC 3672 §3): search for subentries instead of, or only for, ordinary entries.

use ironbark_ber::{Reader, Writer};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Which entries a search may return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subentries {
    /// TRUE: subentries only. FALSE: ordinary entries only.
    pub visible: bool,
}

impl ControlValue for Subentries {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.boolean(self.visible);
    }
}

impl RequestControl<'_> for Subentries {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        reader
            .boolean()
            .and_then(|visible| reader.finish().map(|()| Self { visible }))
            .map_err(|_| DESCRIPTOR.malformed())
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.1.10.1",
    name: "subentries",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: Texts {
        absent: "subentries control value encoding is bogus",
        empty: "subentries control value encoding is bogus",
        malformed: "subentries control value encoding is bogus",
        ..texts!("subentries control")
    },
};
