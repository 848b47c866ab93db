//! Add (RFC 4511 §4.7).

use ironbark_ber::{Reader, Writer, tags};

use crate::{AttributeList, DecodeLimits, Fault, List};

/// An add request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AddRequest<'a> {
    /// Name of the new entry.
    pub entry: &'a [u8],
    /// Its attributes; each has values.
    pub attributes: AttributeList<'a>,
}

impl<'a> AddRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>, limits: &DecodeLimits) -> Result<Self, Fault> {
        let entry = content.octet_string()?;
        let attributes: AttributeList<'a> =
            List::decode(content.sequence()?, limits.attributes)?.ok_or(Fault::TOO_MANY)?;
        if attributes.iter().any(|attribute| attribute.values.is_empty()) {
            return Err(Fault::protocol("no values for attribute type"));
        }
        Ok(Self { entry, attributes })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.entry);
        self.attributes.write(writer, tags::SEQUENCE);
    }
}
