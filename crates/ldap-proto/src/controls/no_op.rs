//! No-op (draft-zeilenga-ldap-noop): do everything but the change; the answer is `noOperation`.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Check the operation without carrying it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoOp;

impl ControlValue for NoOp {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for NoOp {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.666.5.2",
    name: "no-op",
    operations: descriptor::ACCESSES,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::AbsentOrEmpty,
    advertised: false,
    texts: Texts {
        not_absent: "noop control value not empty",
        ..texts!("noop control")
    },
};
