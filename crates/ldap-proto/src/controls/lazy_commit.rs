//! Lazy commit (Microsoft, MS-ADTS §3.1.1.3.4.1.7): answer before the change is durable.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Answer without waiting for the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LazyCommit;

impl ControlValue for LazyCommit {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for LazyCommit {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.619",
    name: "lazy commit",
    operations: descriptor::ACCESSES,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: false,
    texts: texts!("lazyCommit control"),
};
