//! Assertion (RFC 4528): carry the operation out only if the target entry matches a filter.

use ironbark_ber::{Reader, Writer};
use ironbark_model::Filter;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault, filter};

/// The filter that the target must match; otherwise the result is `assertionFailed`.
#[derive(Clone, PartialEq, Debug)]
pub struct AssertionControl<'a>(pub Filter<'a>);

impl ControlValue for AssertionControl<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        filter::write(&self.0, writer);
    }
}

impl<'a> RequestControl<'a> for AssertionControl<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        filter::decode(&mut Reader::new(value), limits).map(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.1.12",
    name: "assertion",
    operations: descriptor::ACCESSES,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("assert control"),
};
