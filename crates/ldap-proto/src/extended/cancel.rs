//! Cancel (RFC 3909).

use ironbark_ber::{Reader, Writer, tags};

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::{Fault, MessageId};

/// OID of the request.
pub const OID: &str = "1.3.6.1.1.8";

/// Decodes the value of a request: the message ID of the operation to cancel.
pub fn decode_request(value: Option<&[u8]>) -> Result<MessageId, Fault> {
    let value = match value {
        None => return Err(Fault::protocol("no message ID supplied")),
        Some([]) => return Err(Fault::protocol("empty request data field")),
        Some(value) => value,
    };
    let id = Reader::new(value)
        .sequence()
        .and_then(|mut content| content.integer())
        .map_err(|_| Fault::protocol("message ID parse failed"))?;
    MessageId::new(id).ok_or(Fault::protocol("message ID invalid"))
}

/// Appends the value of a request.
pub fn encode_request(out: &mut Vec<u8>, id: MessageId) {
    Writer::new(out).constructed(tags::SEQUENCE, |writer| writer.integer(i64::from(id.value())));
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::Cancel,
    oid: OID,
    name: "cancel",
    advertised: true,
    writes: false,
};
