//! Transaction specification (RFC 5805): the update is part of a transaction.

use ironbark_ber::Writer;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// The identifier of the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionSpecification<'a>(pub &'a [u8]);

impl ControlValue for TransactionSpecification<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0);
    }
}

impl<'a> RequestControl<'a> for TransactionSpecification<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self(value))
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.1.21.2",
    name: "transaction specification",
    operations: descriptor::UPDATES,
    extended_operations: &[],
    criticality: Criticality::MustBeTrue {
        refusal: "txnSpec control must be marked critical",
    },
    value: ValueRule::Present,
    // As in slapd: the root DSE lists the extended operations.
    advertised: false,
    texts: Texts {
        duplicate: "txnSpec control provided multiple times",
        absent: "no transaction identifier provided",
        ..texts!("txnSpec control")
    },
};
