//! Search result reference (RFC 4511 §4.5.3).

use super::tags::SEARCH_REFERENCE;
use crate::{EncodeControl, MessageId, Referrals, envelope::encode_message};

/// Appends a search result reference.
pub fn encode_search_reference(
    out: &mut Vec<u8>,
    id: MessageId,
    uris: &Referrals<'_>,
    controls: &[&dyn EncodeControl],
) {
    encode_message(out, id, controls, |writer| uris.write(writer, SEARCH_REFERENCE));
}
