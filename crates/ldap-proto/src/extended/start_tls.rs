//! StartTLS (RFC 4511 §4.14).

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::{ExtendedRequest, Fault};

/// OID of request and response.
pub const OID: &str = "1.3.6.1.4.1.1466.20037";

/// The request.
pub const fn request() -> ExtendedRequest<'static> {
    ExtendedRequest {
        name: OID.as_bytes(),
        value: None,
    }
}

/// Checks that a request has no value.
pub fn decode_request(value: Option<&[u8]>) -> Result<(), Fault> {
    match value {
        None => Ok(()),
        Some(_) => Err(Fault::protocol("no request data expected")),
    }
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::StartTls,
    oid: OID,
    name: "StartTLS",
    advertised: true,
    writes: false,
};
