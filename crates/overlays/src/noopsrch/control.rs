//! The control, which OpenLDAP's overlay noopsrch defines.

use ironbark_ber::{Reader, Writer, tags};
use ironbark_ldap_proto::{
    DecodeLimits, Fault, Operation,
    controls::{ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule, descriptor::texts},
};
use ironbark_model::ResultCode;

/// Count what the search finds, and send none of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoOpSearch;

/// What was counted. It comes with the search result done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoOpSearchResponse {
    /// Result of the search.
    pub code: ResultCode,
    /// Entries.
    pub entries: u32,
    /// Continuation references.
    pub references: u32,
}

impl ControlValue for NoOpSearch {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for NoOpSearch {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl ControlValue for NoOpSearchResponse {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            for number in [self.code.0, self.entries, self.references] {
                writer.integer(i64::from(number));
            }
        });
    }
}

impl NoOpSearchResponse {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are malformed.
    pub fn decode_value(value: &[u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        let mut number = || -> Result<u32, Fault> {
            let before = content;
            u32::try_from(content.integer()?).map_err(|_| before.error(ironbark_ber::ErrorKind::BadInteger).into())
        };
        Ok(Self {
            code: ResultCode(number()?),
            entries: number()?,
            references: number()?,
        })
    }
}

/// Its description.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.666.5.18",
    name: "no-op search",
    operations: &[Operation::Search],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: true,
    texts: Texts {
        not_absent: "No-op Search control value is present",
        ..texts!("No-op Search control")
    },
};
