//! Relax rules (draft-zeilenga-ldap-relax): lets a manager write what users may not write.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// Relax the rules of the information model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelaxRules;

impl ControlValue for RelaxRules {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for RelaxRules {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.666.5.12",
    name: "relax rules",
    operations: descriptor::UPDATES,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: false,
    texts: texts!("relax control"),
};
