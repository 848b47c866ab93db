//! Channel bindings: tls-server-end-point (RFC 5929 §4) and tls-exporter (RFC 9266).

use ironbark_ber::{Reader, tags};
use rustls::ConnectionCommon;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The hash of the server's certificate. The hash function is that of the signature, or SHA-256 if that is weak. `None`
/// if the signature has none.
pub fn endpoint(certificate: &[u8]) -> Option<Vec<u8>> {
    let hash = match signature_algorithm(certificate)? {
        MD5_WITH_RSA | SHA1_WITH_RSA | SHA256_WITH_RSA | ECDSA_WITH_SHA1 | ECDSA_WITH_SHA256 => {
            Sha256::digest(certificate).to_vec()
        }
        SHA384_WITH_RSA | ECDSA_WITH_SHA384 => Sha384::digest(certificate).to_vec(),
        SHA512_WITH_RSA | ECDSA_WITH_SHA512 => Sha512::digest(certificate).to_vec(),
        _ => return None,
    };
    Some(hash)
}

/// Keying material of a connection of TLS 1.3.
pub fn exporter<Side>(connection: &ConnectionCommon<Side>) -> Option<[u8; 32]> {
    connection
        .export_keying_material([0; 32], b"EXPORTER-Channel-Binding", Some(b""))
        .ok()
}

/// The OID behind the signed part.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let mut parts = Reader::new(certificate).sequence().ok()?;
    parts.sequence().ok()?;
    parts.sequence().ok()?.element(tags::OBJECT_IDENTIFIER).ok()
}

const MD5_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04";
const SHA1_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05";
const SHA256_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b";
const SHA384_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c";
const SHA512_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d";
const ECDSA_WITH_SHA1: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x01";
const ECDSA_WITH_SHA256: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x02";
const ECDSA_WITH_SHA384: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x03";
const ECDSA_WITH_SHA512: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x04";
