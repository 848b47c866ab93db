//! Who am I? (RFC 4532). The response's value is the `authzId`, empty for anonymous, and the response has no name.

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::{ExtendedRequest, ExtendedResponse, Fault, LdapResult};

/// OID of the request.
pub const OID: &str = "1.3.6.1.4.1.4203.1.11.3";

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

/// The response for a success.
pub fn response(authorization_identity: &[u8]) -> ExtendedResponse<'_> {
    ExtendedResponse {
        result: LdapResult::new(ironbark_model::ResultCode::SUCCESS),
        name: None,
        value: Some(authorization_identity),
    }
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::WhoAmI,
    oid: OID,
    name: "Who am I?",
    advertised: true,
    writes: false,
};
