//! Search result entry (RFC 4511 §4.5.2), as clients decode it; servers write it with [`crate::SearchEntryWriter`].

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::tags::SEARCH_ENTRY;
use crate::{AttributeList, Fault, List};

/// An entry found by a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchResultEntry<'a> {
    /// Its name.
    pub dn: &'a [u8],
    /// Its attributes; without values when the search asked for types only.
    pub attributes: AttributeList<'a>,
}

impl<'a> SearchResultEntry<'a> {
    /// Decodes a whole entry, tag included. The values of the read-entry controls have this form (RFC 4527).
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        // RFC 4527 §3.1 says `SearchResultEntry`; some servers drop its application tag.
        let mut content = match reader.peek() {
            Some(tags::SEQUENCE) => reader.sequence()?,
            _ => reader.nested(SEARCH_ENTRY)?,
        };
        Ok(Self::decode(&mut content)?)
    }

    pub(crate) fn decode(content: &mut Reader<'a>) -> Result<Self, BerError> {
        Ok(Self {
            dn: content.octet_string()?,
            attributes: List::decode_all(content.sequence()?)?,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(SEARCH_ENTRY, |writer| {
            writer.octet_string(self.dn);
            self.attributes.write(writer, tags::SEQUENCE);
        });
    }
}
