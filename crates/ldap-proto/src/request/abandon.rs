//! Abandon (RFC 4511 §4.11).

use ironbark_ber::Reader;

use super::Request;
use crate::{Fault, MessageId};

pub(super) fn decode(content: Reader<'_>) -> Result<Request<'_>, Fault> {
    i32::try_from(content.integer_content()?)
        .ok()
        .and_then(MessageId::new)
        .map(Request::Abandon)
        .ok_or(Fault::malformed("decoding error"))
}
