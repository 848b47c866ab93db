//! Abandon (RFC 4511 §4.11).

use ironbark_ber::Reader;

use crate::{Fault, MessageId};

pub(super) fn decode(content: Reader<'_>) -> Result<MessageId, Fault> {
    i32::try_from(content.integer_content()?)
        .ok()
        .and_then(MessageId::new)
        .ok_or(Fault::malformed("decoding error"))
}
