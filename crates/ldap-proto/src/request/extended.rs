//! Extended requests (RFC 4511 §4.12); [`crate::extended`] knows their values.

use ironbark_ber::{Reader, Writer, tags};

use crate::Fault;

/// An extended request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExtendedRequest<'a> {
    /// OID of the operation.
    pub name: &'a [u8],
    /// Its value; may hold passwords.
    pub value: Option<&'a [u8]>,
}

impl<'a> ExtendedRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        Ok(Self {
            name: content.element(REQUEST_NAME)?,
            value: content.optional(REQUEST_VALUE)?,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.element(REQUEST_NAME, self.name);
        if let Some(value) = self.value {
            writer.element(REQUEST_VALUE, value);
        }
    }
}

impl std::fmt::Debug for ExtendedRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Extended({})", String::from_utf8_lossy(self.name))
    }
}

const REQUEST_NAME: u8 = tags::context(0);
const REQUEST_VALUE: u8 = tags::context(1);
