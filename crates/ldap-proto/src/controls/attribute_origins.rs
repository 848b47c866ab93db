//! Real attributes only and virtual attributes only (Sun Directory Server, 389 Directory Server): which attributes an
//! answer has, those that entries hold or those that are computed.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Send only what entries hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealAttributesOnly;

/// Send only what is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VirtualAttributesOnly;

impl ControlValue for RealAttributesOnly {
    const OID: &'static str = REAL.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for RealAttributesOnly {
    const DESCRIPTOR: &'static Descriptor = &REAL;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl ControlValue for VirtualAttributesOnly {
    const OID: &'static str = VIRTUAL.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for VirtualAttributesOnly {
    const DESCRIPTOR: &'static Descriptor = &VIRTUAL;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const REAL: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.17",
    name: "real attributes only",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::AbsentOrEmpty,
    advertised: true,
    texts: texts!("real attributes only control"),
};

/// Row of the registry.
pub const VIRTUAL: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.19",
    name: "virtual attributes only",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::AbsentOrEmpty,
    advertised: true,
    texts: texts!("virtual attributes only control"),
};
