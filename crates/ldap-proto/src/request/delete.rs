//! Delete (RFC 4511 §4.8).

use ironbark_ber::Reader;

use super::Request;

pub(super) fn decode(content: Reader<'_>) -> Request<'_> {
    Request::Delete(content.remaining())
}
