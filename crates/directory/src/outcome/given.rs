//! Answers of overlays that replace the result of an operation.

use ironbark_model::ResultCode;

/// An overlay's answer to a request, in place of the operation's. Success for a bind authenticates nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The result code.
    pub code: ResultCode,
    /// Text for people; may be empty.
    pub diagnostic_message: String,
    /// Name of an entry; may be empty.
    pub matched_dn: String,
    /// URIs, if the code is referral.
    pub referrals: Vec<String>,
    /// The answer is sent as an unsolicited notification; the request itself gets no response.
    pub unsolicited: Option<Unsolicited>,
    /// The connection is closed after the answer.
    pub closes: bool,
}

/// The parts of an unsolicited notification besides its result (RFC 4511 §4.4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsolicited {
    /// The name of the response; `None`: the response to the request, with message ID zero.
    pub name: Option<String>,
    /// Its value.
    pub value: Option<Vec<u8>>,
}

impl Answer {
    /// A result code and nothing else.
    pub fn code(code: ResultCode) -> Self {
        Self {
            code,
            diagnostic_message: String::new(),
            matched_dn: String::new(),
            referrals: Vec::new(),
            unsolicited: None,
            closes: false,
        }
    }
}
