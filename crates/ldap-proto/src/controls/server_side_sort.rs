//! Server-side sorting (RFC 2891).

use ironbark_ber::{BerError, Reader, Writer, tags};
use ironbark_model::ResultCode;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault, List, list::Element};

/// OID of the response control.
pub const RESPONSE_OID: &str = "1.2.840.113556.1.4.474";

/// The keys of a sort request, most significant first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SortKeys<'a>(pub List<'a, SortKey<'a>>);

/// One sort key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey<'a> {
    /// Attribute description.
    pub attribute: &'a [u8],
    /// Ordering rule, if not the attribute's own.
    pub ordering_rule: Option<&'a [u8]>,
    /// Descending.
    pub reverse: bool,
}

/// The result of the sort. It comes with the search result done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortResponse<'a> {
    /// Result of the sort.
    pub code: ResultCode,
    /// The attribute that is at fault.
    pub attribute: Option<&'a [u8]>,
}

impl<'a> SortResponse<'a> {
    /// Decodes the value's content octets.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        let before = content;
        let code = u32::try_from(content.enumerated()?)
            .map_err(|_| Fault::from(before.error(ironbark_ber::ErrorKind::BadInteger)))?;
        Ok(Self {
            code: ResultCode(code),
            attribute: content.optional(FIRST)?,
        })
    }
}

impl<'a> Element<'a> for SortKey<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let mut content = reader.sequence()?;
        Ok(Self {
            attribute: content.octet_string()?,
            ordering_rule: content.optional(FIRST)?,
            reverse: content.peek() == Some(REVERSE) && content.boolean_of(REVERSE)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(self.attribute);
            if let Some(rule) = self.ordering_rule {
                writer.element(FIRST, rule);
            }
            if self.reverse {
                writer.boolean_of(REVERSE, true);
            }
        });
    }
}

impl ControlValue for SortKeys<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        self.0.write(writer, tags::SEQUENCE);
    }
}

impl ControlValue for SortResponse<'_> {
    const OID: &'static str = RESPONSE_OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.enumerated(i64::from(self.code.0));
            if let Some(attribute) = self.attribute {
                writer.element(FIRST, attribute);
            }
        });
    }
}

impl<'a> RequestControl<'a> for SortKeys<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        let keys: List<'a, SortKey<'a>> = Reader::new(value)
            .sequence()
            .and_then(|list| List::decode(list, limits.selected_attributes))
            .map_err(|_| DESCRIPTOR.malformed())?
            .ok_or(Fault::TOO_MANY)?;
        if keys.is_empty() {
            return Err(DESCRIPTOR.malformed());
        }
        Ok(Self(keys))
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.473",
    name: "server-side sort",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: Texts {
        malformed: "serverSort control: decoding error",
        ..texts!("sorted results control")
    },
};

const FIRST: u8 = tags::context(0);
const REVERSE: u8 = tags::context(1);
