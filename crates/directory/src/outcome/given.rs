//! Answers of overlays that replace the result of an operation.

use crate::result::OperationResult;

/// An overlay's answer to a request, in place of the operation's: a result, and how it is delivered. Success for a bind
/// authenticates nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The result.
    pub result: OperationResult,
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

/// The response of the request.
impl From<OperationResult> for Answer {
    fn from(result: OperationResult) -> Self {
        Self {
            result,
            unsolicited: None,
            closes: false,
        }
    }
}
