//! Unbind (RFC 4511 §4.3).

use ironbark_ber::Reader;

use super::Request;
use crate::Fault;

pub(super) fn decode(content: Reader<'_>) -> Result<Request<'_>, Fault> {
    content.finish()?;
    Ok(Request::Unbind)
}
