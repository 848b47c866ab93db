//! Permissive modify (Microsoft, MS-ADTS §3.1.1.3.4.1.8): it is no error to add an existing value or to delete a
//! missing one.

use ironbark_ber::Writer;

use super::{ControlValue, Criticality, Descriptor, RequestControl, ValueRule, descriptor::texts};
use crate::{DecodeLimits, Fault, Operation};

/// Adding an existing value and deleting a missing value succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PermissiveModify;

impl ControlValue for PermissiveModify {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for PermissiveModify {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.1413",
    name: "permissive modify",
    operations: &[Operation::Modify],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: false,
    texts: texts!("permissiveModify control"),
};
