//! Tree delete (Microsoft, draft-armijo-ldap-treedelete): delete the entry with all its subordinates.

use ironbark_ber::Writer;

use super::{ControlValue, Criticality, Descriptor, RequestControl, ValueRule, descriptor::texts};
use crate::{DecodeLimits, Fault, Operation};

/// Delete the entry with all its subordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeDelete;

impl ControlValue for TreeDelete {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for TreeDelete {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.805",
    name: "tree delete",
    operations: &[Operation::Delete],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: false,
    texts: texts!("treeDelete control"),
};
