//! Virtual list view (draft-ietf-ldapext-ldapv3-vlv-09).

use ironbark_ber::{BerError, ErrorKind, Reader, Writer, tags};
use ironbark_model::ResultCode;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// OID of the response control.
pub const RESPONSE_OID: &str = "2.16.840.1.113730.3.4.10";

/// The part of a sorted list that a client wants: the entries around a target. Counts are at most 2,147,483,647.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualListView<'a> {
    /// Entries before the target.
    pub before: u32,
    /// Entries behind the target.
    pub after: u32,
    /// Where they stand.
    pub target: ListTarget<'a>,
    /// What the server gave the client for this list, if anything.
    pub context_id: Option<&'a [u8]>,
}

/// The entry around which a client wants entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListTarget<'a> {
    /// The one at an offset, as a ratio.
    Offset {
        /// Counted from 1, in a list of `content_count` entries.
        offset: u32,
        /// Entries that the client takes the list for; 0: as many as it has.
        content_count: u32,
    },
    /// The first whose primary sort key is not before a value.
    Value(&'a [u8]),
}

/// What became of the view; comes with the search result done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualListViewResponse<'a> {
    /// Where the target stands, counted from 1. One more than there are entries: there is none.
    pub target_position: u32,
    /// Entries of the list.
    pub content_count: u32,
    /// `success`, or why the search ended with `virtualListViewError`.
    pub code: ResultCode,
    /// What the client is to send with the next request for this list.
    pub context_id: Option<&'a [u8]>,
}

impl<'a> VirtualListViewResponse<'a> {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are no such value.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        Ok(Self {
            target_position: count(&mut content)?,
            content_count: count(&mut content)?,
            code: ResultCode(natural(&mut content, tags::ENUMERATED)?),
            context_id: content.optional(tags::OCTET_STRING)?,
        })
    }
}

fn read(value: &[u8]) -> Result<VirtualListView<'_>, BerError> {
    let mut content = Reader::new(value).sequence()?;
    let (before, after) = (count(&mut content)?, count(&mut content)?);
    let target = if let Some(value) = content.optional(BY_VALUE)? {
        ListTarget::Value(value)
    } else {
        let mut place = content.nested(BY_OFFSET)?;
        ListTarget::Offset {
            offset: count(&mut place)?,
            content_count: count(&mut place)?,
        }
    };
    Ok(VirtualListView {
        before,
        after,
        target,
        context_id: content.optional(tags::OCTET_STRING)?,
    })
}

fn count(reader: &mut Reader<'_>) -> Result<u32, BerError> {
    natural(reader, tags::INTEGER)
}

fn natural(reader: &mut Reader<'_>, identifier: u8) -> Result<u32, BerError> {
    let before = *reader;
    u32::try_from(reader.integer_i32(identifier)?).map_err(|_| before.error(ErrorKind::BadInteger))
}

impl ControlValue for VirtualListView<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.before));
            writer.integer(i64::from(self.after));
            match self.target {
                ListTarget::Offset { offset, content_count } => writer.constructed(BY_OFFSET, |writer| {
                    writer.integer(i64::from(offset));
                    writer.integer(i64::from(content_count));
                }),
                ListTarget::Value(value) => writer.element(BY_VALUE, value),
            }
            if let Some(context_id) = self.context_id {
                writer.octet_string(context_id);
            }
        });
    }
}

impl ControlValue for VirtualListViewResponse<'_> {
    const OID: &'static str = RESPONSE_OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.target_position));
            writer.integer(i64::from(self.content_count));
            writer.enumerated(i64::from(self.code.0));
            if let Some(context_id) = self.context_id {
                writer.octet_string(context_id);
            }
        });
    }
}

impl<'a> RequestControl<'a> for VirtualListView<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        read(value).map_err(|_| DESCRIPTOR.malformed())
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.9",
    name: "virtual list view",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("vlv control"),
};

const BY_OFFSET: u8 = tags::context_constructed(0);
const BY_VALUE: u8 = tags::context(1);
