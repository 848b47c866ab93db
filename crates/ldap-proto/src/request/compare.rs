//! Compare (RFC 4511 §4.10).

use ironbark_ber::{Reader, Writer, tags};

use crate::Fault;

/// A compare request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompareRequest<'a> {
    /// Name of the entry.
    pub entry: &'a [u8],
    /// Attribute description.
    pub attribute: &'a [u8],
    /// Assertion value.
    pub value: &'a [u8],
}

impl<'a> CompareRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        let entry = content.octet_string()?;
        let mut assertion = content.sequence()?;
        let attribute = assertion.octet_string()?;
        let value = assertion.octet_string()?;
        Ok(Self {
            entry,
            attribute,
            value,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.entry);
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(self.attribute);
            writer.octet_string(self.value);
        });
    }
}
