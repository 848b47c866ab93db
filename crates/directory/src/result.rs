//! The result of an operation that something other than the operation has chosen: an overlay, or what answers for a
//! database whose entries are elsewhere. It may be a success; a refusal is an [`OperationError`].

use std::borrow::Cow;

use ironbark_ldap_proto::{LdapResult, List};
use ironbark_model::ResultCode;

use crate::OperationError;

/// The parts of an `LDAPResult` (RFC 4511 §4.1.9). A success for a bind authenticates nobody by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationResult {
    /// The result code.
    pub code: ResultCode,
    /// Text for people; may be empty. A client is sent 1,024 octets of it at most.
    pub diagnostic_message: Cow<'static, str>,
    /// Name of an entry; may be empty.
    pub matched_dn: String,
    /// URIs, if the code is referral.
    pub referrals: Vec<String>,
}

impl OperationResult {
    /// A result code and a text.
    pub fn new(code: ResultCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            diagnostic_message: text.into(),
            matched_dn: String::new(),
            referrals: Vec::new(),
        }
    }

    /// A result code and nothing else.
    pub fn code(code: ResultCode) -> Self {
        Self::new(code, "")
    }

    /// The same, but that a referral without URIs is `noSuchObject`, as in slapd.
    #[must_use]
    pub(crate) fn without_empty_referral(mut self) -> Self {
        if self.code == ResultCode::REFERRAL && self.referrals.is_empty() {
            self.code = ResultCode::NO_SUCH_OBJECT;
        }
        self
    }

    /// Whether it is a success that says nothing more.
    pub(crate) fn is_plain_success(&self) -> bool {
        self.code == ResultCode::SUCCESS && self.matched_dn.is_empty() && self.diagnostic_message.is_empty()
    }

    /// Calls `encode` with the result as a client is sent it.
    pub(crate) fn encode(&self, encode: impl FnOnce(LdapResult<'_>)) {
        encode_parts(
            self.code,
            &self.matched_dn,
            &self.diagnostic_message,
            &self.referrals,
            encode,
        );
    }
}

/// A refusal without the controls of its response.
impl From<OperationError> for OperationResult {
    fn from(error: OperationError) -> Self {
        Self {
            code: error.result_code,
            diagnostic_message: error.diagnostic_message,
            matched_dn: error.matched_dn,
            referrals: error.referrals,
        }
    }
}

/// Calls `encode` with a refusal as a client is sent it.
pub(crate) fn encode_refusal(error: &OperationError, encode: impl FnOnce(LdapResult<'_>)) {
    encode_parts(
        error.result_code,
        &error.matched_dn,
        &error.diagnostic_message,
        &error.referrals,
        encode,
    );
}

/// The diagnostic message for a client. A long one is cut, because it may repeat what the client sent.
pub(crate) fn told(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TOLD_OCTETS {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(MAX_TOLD_OCTETS - CUT.len());
    Cow::Owned(text.get(..end).unwrap_or_default().to_owned() + CUT)
}

fn encode_parts(
    code: ResultCode,
    matched_dn: &str,
    text: &str,
    referrals: &[String],
    encode: impl FnOnce(LdapResult<'_>),
) {
    let referrals: Vec<&[u8]> = referrals.iter().map(String::as_bytes).collect();
    let told = told(text);
    encode(LdapResult {
        code,
        matched_dn: matched_dn.as_bytes(),
        diagnostic_message: told.as_bytes(),
        referrals: List::new(&referrals),
    });
}

/// Octets of a diagnostic message.
const MAX_TOLD_OCTETS: usize = 1_024;
/// The end of a diagnostic message that was cut.
const CUT: &str = "...";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diagnostic_message_is_cut_at_a_characters_border() {
        let told = |text: String| told(&text).into_owned();
        assert_eq!(told("x".repeat(1_024)), "x".repeat(1_024));
        assert_eq!(told("x".repeat(1_025)), "x".repeat(1_021) + "...");
        // 1,021 octets have room for 510 of them and a half.
        assert_eq!(told("ü".repeat(10_000)), "ü".repeat(510) + "...");
        assert_eq!(told("ü".repeat(512)), "ü".repeat(512));
    }
}
