//! Pre-read and post-read (RFC 4527): the target entry as it was before, or is after, an update.

use ironbark_ber::{Reader, Writer, tags};

use super::{ControlValue, Criticality, Descriptor, RequestControl, ValueRule, descriptor::texts};
use crate::{AttributeSelection, DecodeLimits, Fault, List, Operation, SearchResultEntry};

/// Which attributes of the entry before the update to return.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PreRead<'a>(pub AttributeSelection<'a>);

/// Which attributes of the entry after the update to return.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PostRead<'a>(pub AttributeSelection<'a>);

/// The entry before the update: a whole `SearchResultEntry`, as [`crate::SearchEntryWriter::begin_value`] writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreReadResponse<'a>(pub &'a [u8]);

/// The entry after the update: a whole `SearchResultEntry`, as [`crate::SearchEntryWriter::begin_value`] writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostReadResponse<'a>(pub &'a [u8]);

impl<'a> PreReadResponse<'a> {
    /// The entry in the control.
    pub fn entry(&self) -> Result<SearchResultEntry<'a>, Fault> {
        SearchResultEntry::decode_value(self.0)
    }
}

impl<'a> PostReadResponse<'a> {
    /// The entry in the control.
    pub fn entry(&self) -> Result<SearchResultEntry<'a>, Fault> {
        SearchResultEntry::decode_value(self.0)
    }
}

fn decode<'a>(row: &Descriptor, value: &'a [u8], limits: &DecodeLimits) -> Result<AttributeSelection<'a>, Fault> {
    Reader::new(value)
        .sequence()
        .and_then(|list| List::decode(list, limits.selected_attributes))
        .map_err(|_| row.malformed())?
        .ok_or(Fault::TOO_MANY)
}

impl ControlValue for PreRead<'_> {
    const OID: &'static str = PRE_READ.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        self.0.write(writer, tags::SEQUENCE);
    }
}

impl ControlValue for PostRead<'_> {
    const OID: &'static str = POST_READ.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        self.0.write(writer, tags::SEQUENCE);
    }
}

impl ControlValue for PreReadResponse<'_> {
    const OID: &'static str = PRE_READ.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0);
    }
}

impl ControlValue for PostReadResponse<'_> {
    const OID: &'static str = POST_READ.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0);
    }
}

impl<'a> RequestControl<'a> for PreRead<'a> {
    const DESCRIPTOR: &'static Descriptor = &PRE_READ;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        decode(&PRE_READ, value, limits).map(Self)
    }
}

impl<'a> RequestControl<'a> for PostRead<'a> {
    const DESCRIPTOR: &'static Descriptor = &POST_READ;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        decode(&POST_READ, value, limits).map(Self)
    }
}

/// Row of the registry for pre-read.
pub const PRE_READ: Descriptor = Descriptor {
    oid: "1.3.6.1.1.13.1",
    name: "pre-read",
    operations: &[Operation::Delete, Operation::Modify, Operation::ModifyDn],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("preread control:"),
};

/// Row of the registry for post-read.
pub const POST_READ: Descriptor = Descriptor {
    oid: "1.3.6.1.1.13.2",
    name: "post-read",
    operations: &[Operation::Add, Operation::Modify, Operation::ModifyDn],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("postread control:"),
};
