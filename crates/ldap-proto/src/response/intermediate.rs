//! Intermediate responses (RFC 4511 §4.13).

use ironbark_ber::{Reader, Writer, tags};

use super::tags::INTERMEDIATE;
use crate::{EncodeControl, Fault, MessageId, envelope::encode_message};

/// An intermediate response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntermediateResponse<'a> {
    /// OID.
    pub name: Option<&'a [u8]>,
    /// Value.
    pub value: Option<&'a [u8]>,
}

impl<'a> IntermediateResponse<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        Ok(Self {
            name: content.optional(RESPONSE_NAME)?,
            value: content.optional(RESPONSE_VALUE)?,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(INTERMEDIATE, |writer| {
            if let Some(name) = self.name {
                writer.element(RESPONSE_NAME, name);
            }
            if let Some(value) = self.value {
                writer.element(RESPONSE_VALUE, value);
            }
        });
    }
}

/// Appends an intermediate response.
pub fn encode_intermediate(
    out: &mut Vec<u8>,
    id: MessageId,
    response: &IntermediateResponse<'_>,
    controls: &[&dyn EncodeControl],
) {
    encode_message(out, id, controls, |writer| response.write(writer));
}

const RESPONSE_NAME: u8 = tags::context(0);
const RESPONSE_VALUE: u8 = tags::context(1);
