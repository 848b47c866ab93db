//! Answers that are given in place of what an operation would have found.

use ironbark_model::ResultCode;

/// An answer that an overlay gives in place of an operation's. Success with a bind authenticates nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The result code.
    pub code: ResultCode,
    /// Text for people; may be empty.
    pub diagnostic_message: String,
    /// Name of an entry; may be empty.
    pub matched_dn: String,
    /// URIs, where the code is referral.
    pub referrals: Vec<String>,
    /// It is sent as an unsolicited notification, and the request itself is not answered.
    pub unsolicited: Option<Unsolicited>,
    /// The connection ends behind it.
    pub closes: bool,
}

/// What an unsolicited notification is beside its result (RFC 4511 §4.4).
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
