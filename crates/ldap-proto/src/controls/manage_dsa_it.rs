//! ManageDsaIT (RFC 3296 §3): treat referral objects as entries.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Treat referral objects as ordinary entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ManageDsaIt;

impl ControlValue for ManageDsaIt {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for ManageDsaIt {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.2",
    name: "ManageDsaIT",
    operations: descriptor::ACCESSES,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: true,
    texts: texts!("manageDSAit control"),
};
