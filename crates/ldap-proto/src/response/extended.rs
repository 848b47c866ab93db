//! Extended responses (RFC 4511 §4.12) and unsolicited notifications (§4.4).

use ironbark_ber::{Reader, Writer, tags};
use ironbark_model::ResultCode;

use super::tags::EXTENDED;
use crate::{EncodeControl, Fault, LdapResult, MessageId, envelope::encode_message};

/// OID of the notice of disconnection (RFC 4511 §4.4.1).
pub const NOTICE_OF_DISCONNECTION: &[u8] = b"1.3.6.1.4.1.1466.20036";

/// An extended response.
#[derive(Clone, Copy, PartialEq)]
pub struct ExtendedResponse<'a> {
    /// Result.
    pub result: LdapResult<'a>,
    /// OID of the response, for those that have one.
    pub name: Option<&'a [u8]>,
    /// Its value; may hold passwords.
    pub value: Option<&'a [u8]>,
}

impl<'a> ExtendedResponse<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        Ok(Self {
            result: LdapResult::decode(&mut content)?,
            name: content.optional(RESPONSE_NAME)?,
            value: content.optional(RESPONSE_VALUE)?,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(EXTENDED, |writer| {
            self.result.write_content(writer);
            if let Some(name) = self.name {
                writer.element(RESPONSE_NAME, name);
            }
            if let Some(value) = self.value {
                writer.element(RESPONSE_VALUE, value);
            }
        });
    }
}

impl std::fmt::Debug for ExtendedResponse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtendedResponse")
            .field("result", &self.result)
            .field("name", &self.name.map(String::from_utf8_lossy))
            .finish_non_exhaustive()
    }
}

/// Appends an extended response.
pub fn encode_extended_response(
    out: &mut Vec<u8>,
    id: MessageId,
    response: &ExtendedResponse<'_>,
    controls: &[&dyn EncodeControl],
) {
    encode_message(out, id, controls, |writer| response.write(writer));
}

/// Appends the notice of disconnection. The server sends it before it closes a connection (RFC 4511 §4.4.1).
pub fn encode_notice_of_disconnection(out: &mut Vec<u8>, code: ResultCode, diagnostic: &str) {
    let response = ExtendedResponse {
        result: LdapResult::new(code).with_diagnostic(diagnostic),
        name: Some(NOTICE_OF_DISCONNECTION),
        value: None,
    };
    encode_extended_response(out, MessageId::UNSOLICITED, &response, &[]);
}

const RESPONSE_NAME: u8 = tags::context(10);
const RESPONSE_VALUE: u8 = tags::context(11);
