//! Writes search result entries straight into the output buffer.

use ironbark_ber::{Mark, Writer, length_length, tags};

use super::tags::SEARCH_ENTRY;
use crate::{EncodeControl, MessageId, RawControls, envelope::write_controls};

/// Appends one `SearchResultEntry` (RFC 4511 §4.5.2) to a buffer, attribute by attribute.
///
/// A writer that is dropped without [`SearchEntryWriter::finish`] leaves the buffer as it was.
#[derive(Debug)]
#[must_use = "an entry that is not finished is taken back"]
pub struct SearchEntryWriter<'o> {
    writer: Writer<'o>,
    /// Length of the buffer before the entry.
    start: usize,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// `None` for an entry that is the value of a control.
    message: Option<Mark>,
    entry: Mark,
    attributes: Mark,
}

/// An attribute that was begun: pass it to [`SearchEntryWriter::end_attribute`].
#[derive(Debug)]
#[must_use = "an attribute that is not ended has no length"]
pub struct AttributeMark {
    start: usize,
    attribute: Mark,
    values: Mark,
    first_value: usize,
}

impl<'o> SearchEntryWriter<'o> {
    /// Begins a message with an entry of this name.
    #[inline]
    pub fn begin(out: &'o mut Vec<u8>, id: MessageId, dn: &[u8]) -> Self {
        let start = out.len();
        let mut writer = Writer::new(out);
        let message = writer.begin_sized(tags::SEQUENCE, EXPECTED_LENGTH);
        writer.integer(i64::from(id.value()));
        Self::begin_entry(writer, start, Some(message), dn)
    }

    /// Begins an entry without a message around it, for the values of the read-entry controls (RFC 4527).
    #[inline]
    pub fn begin_value(out: &'o mut Vec<u8>, dn: &[u8]) -> Self {
        let start = out.len();
        Self::begin_entry(Writer::new(out), start, None, dn)
    }

    #[inline]
    fn begin_entry(mut writer: Writer<'o>, start: usize, message: Option<Mark>, dn: &[u8]) -> Self {
        let entry = writer.begin_sized(SEARCH_ENTRY, EXPECTED_LENGTH);
        writer.octet_string(dn);
        let attributes = writer.begin_sized(tags::SEQUENCE, EXPECTED_LENGTH);
        Self {
            writer,
            start,
            open: Some(Open {
                message,
                entry,
                attributes,
            }),
        }
    }

    /// Appends an attribute without values, for `typesOnly`.
    #[inline]
    pub fn attribute_type(&mut self, description: &[u8]) {
        self.attribute_header(description, 0);
    }

    /// The buffer for attributes that are already encoded as `PartialAttribute`s.
    #[inline]
    pub fn attributes(&mut self) -> &mut Vec<u8> {
        self.writer.buffer()
    }

    /// Appends an attribute with these values.
    #[inline]
    pub fn attribute<'v, I>(&mut self, description: &[u8], values: I)
    where
        I: IntoIterator<Item = &'v [u8]>,
        I::IntoIter: Clone,
    {
        let values = values.into_iter();
        self.attribute_header(description, values.clone().map(element_length).sum());
        for value in values {
            self.writer.octet_string(value);
        }
    }

    /// Begins an attribute whose values follow one by one with [`SearchEntryWriter::value`].
    #[inline]
    pub fn begin_attribute(&mut self, description: &[u8]) -> AttributeMark {
        let start = self.writer.position();
        let attribute = self.writer.begin(tags::SEQUENCE);
        self.writer.octet_string(description);
        let values = self.writer.begin(tags::SET);
        AttributeMark {
            start,
            attribute,
            values,
            first_value: self.writer.position(),
        }
    }

    /// Appends a value to the attribute begun last.
    #[inline]
    pub fn value(&mut self, value: &[u8]) {
        self.writer.octet_string(value);
    }

    /// Ends the attribute begun last. An attribute without a value is removed. Returns whether it stays.
    #[inline]
    pub fn end_attribute(&mut self, mark: AttributeMark) -> bool {
        if self.writer.position() == mark.first_value {
            self.writer.buffer().truncate(mark.start);
            return false;
        }
        self.writer.end(mark.values);
        self.writer.end(mark.attribute);
        true
    }

    /// Octets that this entry takes in the buffer so far.
    pub fn length(&self) -> usize {
        self.writer.position().saturating_sub(self.start)
    }

    /// Ends the entry and its message. An entry that is itself the value of a control takes no controls.
    #[inline]
    pub fn finish(mut self, controls: &[&dyn EncodeControl]) {
        let Some(open) = self.open.take() else { return };
        self.writer.end(open.attributes);
        self.writer.end(open.entry);
        if let Some(message) = open.message {
            write_controls(&mut self.writer, controls, &RawControls::default());
            self.writer.end(message);
        }
    }

    /// Headers and description of an attribute whose values take `length` octets.
    #[inline]
    fn attribute_header(&mut self, description: &[u8], length: usize) {
        let content = element_length(description) + 1 + usize::from(length_length(length)) + length;
        self.writer.header(tags::SEQUENCE, content);
        self.writer.octet_string(description);
        self.writer.header(tags::SET, length);
    }
}

impl Drop for SearchEntryWriter<'_> {
    fn drop(&mut self) {
        if self.open.is_some() {
            self.writer.buffer().truncate(self.start);
        }
    }
}

/// Octets of an OCTET STRING with this content.
#[inline]
fn element_length(content: &[u8]) -> usize {
    1 + usize::from(length_length(content.len())) + content.len()
}

/// Makes room for two length octets, which most entries need.
const EXPECTED_LENGTH: usize = 0x100;
