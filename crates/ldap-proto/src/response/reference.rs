//! Search result reference (RFC 4511 §4.5.3).

use ironbark_ber::Reader;

use super::{Response, SEARCH_REFERENCE};
use crate::{EncodeControl, Fault, List, MessageId, Referrals, message::encode_message};

pub(super) fn decode(content: Reader<'_>) -> Result<Response<'_>, Fault> {
    Ok(Response::SearchReference(List::decode_all(content)?))
}

/// Appends a search result reference.
pub fn encode_search_reference(
    out: &mut Vec<u8>,
    id: MessageId,
    uris: &Referrals<'_>,
    controls: &[&dyn EncodeControl],
) {
    encode_message(out, id, controls, |writer| uris.write(writer, SEARCH_REFERENCE));
}
