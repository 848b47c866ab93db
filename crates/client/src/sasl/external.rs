//! EXTERNAL (RFC 4422 appendix A): the server knows the client from its certificate, or on `ldapi://` from its process.

use super::{Exchange, SaslFailure, no_data};

/// The identity to assume; empty: the client's own.
pub(super) struct External(pub(super) String);

impl Exchange for External {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        Ok(Some(self.0.clone().into_bytes()))
    }

    fn step(&mut self, _challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        Err(SaslFailure::unexpected())
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        no_data(last)
    }
}
