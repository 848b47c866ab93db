//! DIGEST-MD5 (RFC 2831), for authentication alone (`qop=auth`) and without subsequent authentication: the challenge,
//! the response with its proofs. Neither side has the security layers.

mod challenge;
mod directive;
mod error;
mod response;

pub(crate) use challenge::MAX_CHALLENGE;
pub(crate) use response::MAX_RESPONSE;

pub use challenge::Challenge;
pub use error::DigestError;
pub use response::DigestResponse;
