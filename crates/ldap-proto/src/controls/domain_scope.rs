//! Domain scope (Microsoft, MS-ADTS §3.1.1.3.4.1.3): no continuation references.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Asks for no continuation references.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DomainScope;

impl ControlValue for DomainScope {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for DomainScope {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.1339",
    name: "domain scope",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::AbsentOrEmpty,
    advertised: false,
    texts: texts!("domainScope control"),
};
