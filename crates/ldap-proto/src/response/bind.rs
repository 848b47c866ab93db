//! Bind response (RFC 4511 §4.2.2).

use ironbark_ber::{Reader, Writer, tags};

use super::tags::BIND;
use crate::{EncodeControl, Fault, LdapResult, MessageId, envelope::encode_message};

/// A bind response.
#[derive(Clone, Copy, PartialEq)]
pub struct BindResponse<'a> {
    /// Result; `saslBindInProgress` asks for the next step.
    pub result: LdapResult<'a>,
    /// The SASL mechanism's data for the client.
    pub server_sasl_credentials: Option<&'a [u8]>,
}

impl<'a> BindResponse<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        Ok(Self {
            result: LdapResult::decode(&mut content)?,
            server_sasl_credentials: content.optional(SERVER_SASL_CREDENTIALS)?,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(BIND, |writer| {
            self.result.write_content(writer);
            if let Some(credentials) = self.server_sasl_credentials {
                writer.element(SERVER_SASL_CREDENTIALS, credentials);
            }
        });
    }
}

impl std::fmt::Debug for BindResponse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BindResponse")
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

/// Appends a bind response.
pub fn encode_bind_response(
    out: &mut Vec<u8>,
    id: MessageId,
    response: &BindResponse<'_>,
    controls: &[&dyn EncodeControl],
) {
    encode_message(out, id, controls, |writer| response.write(writer));
}

const SERVER_SASL_CREDENTIALS: u8 = tags::context(7);
