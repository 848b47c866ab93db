//! `LDAPResult` (RFC 4511 §4.1.9).

use ironbark_ber::{Reader, Writer, tags};
use ironbark_model::ResultCode;

use crate::{EncodeControl, Fault, List, MessageId, Operation, Referrals, envelope::encode_message};

/// A result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LdapResult<'a> {
    /// Result code.
    pub code: ResultCode,
    /// Name of the deepest entry that was found, for the codes that have one.
    pub matched_dn: &'a [u8],
    /// Text for people; UTF-8.
    pub diagnostic_message: &'a [u8],
    /// URIs, for `referral`; absent when empty.
    pub referrals: Referrals<'a>,
}

impl<'a> LdapResult<'a> {
    /// A result without matched DN, text and referral.
    pub fn new(code: ResultCode) -> Self {
        Self {
            code,
            matched_dn: &[],
            diagnostic_message: &[],
            referrals: List::default(),
        }
    }

    /// The same with a diagnostic message.
    #[must_use]
    pub const fn with_diagnostic(self, text: &'a str) -> Self {
        Self {
            diagnostic_message: text.as_bytes(),
            ..self
        }
    }

    /// Reads the components of the result. The rest stays in `content`.
    pub(crate) fn decode(content: &mut Reader<'a>) -> Result<Self, Fault> {
        let before = *content;
        let code = u32::try_from(content.enumerated()?)
            .map_err(|_| Fault::from(before.error(ironbark_ber::ErrorKind::BadInteger)))?;
        let matched_dn = content.octet_string()?;
        let diagnostic_message = content.octet_string()?;
        let referrals = if content.peek() == Some(REFERRAL) {
            List::decode_all(content.nested(REFERRAL)?)?
        } else {
            List::default()
        };
        Ok(Self {
            code: ResultCode(code),
            matched_dn,
            diagnostic_message,
            referrals,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.enumerated(i64::from(self.code.0));
        writer.octet_string(self.matched_dn);
        writer.octet_string(self.diagnostic_message);
        if !self.referrals.is_empty() {
            self.referrals.write(writer, REFERRAL);
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>, identifier: u8) {
        writer.constructed(identifier, |writer| self.write_content(writer));
    }
}

/// Appends the final response of `operation`; nothing for unbind and abandon, which have none.
pub fn encode_result(
    out: &mut Vec<u8>,
    id: MessageId,
    operation: Operation,
    result: &LdapResult<'_>,
    controls: &[&dyn EncodeControl],
) {
    if let Some(identifier) = operation.response_tag() {
        encode_message(out, id, controls, |writer| result.write(writer, identifier));
    }
}

const REFERRAL: u8 = tags::context_constructed(3);
