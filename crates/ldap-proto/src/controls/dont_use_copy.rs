//! Don't use copy (RFC 6171): answer from the original, not from a replica.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Answer from the original only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DontUseCopy;

impl ControlValue for DontUseCopy {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for DontUseCopy {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.1.22",
    name: "don't use copy",
    operations: descriptor::INTERROGATIONS,
    extended_operations: &[],
    criticality: Criticality::ShouldBeTrue {
        refusal: "dontUseCopy criticality of FALSE not allowed",
    },
    value: ValueRule::Absent,
    advertised: true,
    texts: texts!("dontUseCopy control"),
};
