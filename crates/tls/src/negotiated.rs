//! What a handshake has negotiated.

use rustls::{ConnectionCommon, ProtocolVersion};

use crate::{ciphers, exporter};

/// The properties of a connection after its handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// `TLSv1.2` or `TLSv1.3`.
    pub protocol: &'static str,
    /// OpenSSL's name of the cipher suite.
    pub cipher: &'static str,
    /// Length of its keys in bits: the security strength factor.
    pub strength: u32,
    /// Channel binding tls-exporter (RFC 9266), only with TLS 1.3.
    pub exporter: Option<[u8; 32]>,
}

impl Negotiated {
    /// Reads them from a connection whose handshake is done.
    pub fn of<Side>(connection: &ConnectionCommon<Side>) -> Self {
        let suite = connection.negotiated_cipher_suite();
        let (cipher, strength) = suite.map_or(("unknown", 1), |suite| ciphers::describe(suite.suite()));
        let is_tls13 = connection.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        Self {
            protocol: if is_tls13 { "TLSv1.3" } else { "TLSv1.2" },
            cipher,
            strength,
            exporter: is_tls13.then(|| exporter(connection)).flatten(),
        }
    }
}
