//! A certificate with its private key, as rustls wants it.

use std::{fmt, sync::Arc};

use aws_lc_sys as sys;
use rustls::{
    Error, SignatureAlgorithm, SignatureScheme,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer},
    sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey},
};

use super::{
    Certificate,
    handles::{Owned, forget_errors, from_der},
    signatures::{ROWS, Row, kind_of, length_of, sign},
};

/// Why a certificate and a key cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PairError {
    /// It is no certificate of X.509.
    #[error("the certificate cannot be read")]
    Certificate,
    /// TLS has no scheme for it, or none that exists here.
    #[error(
        "this kind of private key cannot be used: there are RSA, ECDSA (P-256, P-384, P-521) and Ed25519. \
         `openssl req -x509 -newkey rsa:3072 -nodes -subj /CN=HOST -addext subjectAltName=DNS:HOST -keyout server.key \
         -out server.crt` makes a pair that can"
    )]
    Key,
    /// The certificate has another public key.
    #[error("they do not belong together")]
    Mismatch,
}

/// One's own certificate, followed by its issuers, and its key. rustls's keys sign where they can; libcrypto's do for
/// RSA keys of less than 2,048 bits and for those of RSASSA-PSS, which TLS 1.2 has no scheme for.
///
/// # Errors
/// See [`PairError`].
pub fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<Arc<SingleCertAndKey>, PairError> {
    let own = chain.first().and_then(|own| Certificate::parse(own));
    let own = own.ok_or(PairError::Certificate)?;
    let private: Owned<sys::EVP_PKEY> = from_der(key.secret_der(), sys::d2i_AutoPrivateKey).ok_or(PairError::Key)?;
    if !is_pair(&own, &private) {
        return Err(PairError::Mismatch);
    }
    let signing = match provider.key_provider.load_private_key(key) {
        Ok(signing) => signing,
        Err(_) => Arc::new(RsaKey::new(private).ok_or(PairError::Key)?),
    };
    Ok(Arc::new(CertifiedKey::new(chain, signing).into()))
}

#[allow(unsafe_code, reason = "a call of libcrypto")]
fn is_pair(own: &Certificate, private: &Owned<sys::EVP_PKEY>) -> bool {
    // SAFETY: it compares them.
    let is_pair = unsafe { sys::X509_check_private_key(own.as_ptr(), private.as_ptr()) } == 1;
    forget_errors();
    is_pair
}

/// An RSA key of libcrypto.
struct RsaKey {
    key: Arc<Owned<sys::EVP_PKEY>>,
    /// Those that it is long enough for, the preferred first.
    rows: Vec<&'static Row>,
}

impl RsaKey {
    /// `None`: it is no RSA key, or too short for any scheme.
    fn new(key: Owned<sys::EVP_PKEY>) -> Option<Self> {
        let (kind, length) = (kind_of(&key), length_of(&key));
        let is_rsa = matches!(kind, sys::EVP_PKEY_RSA | sys::EVP_PKEY_RSA_PSS);
        // RFC 8017 §9.1.1: hash, salt and two octets.
        let fits = |row: &&Row| row.kind == kind && length >= 2 * row.hash_length + 2;
        // A key may say which hash it is for.
        let rows: Vec<_> = ROWS
            .iter()
            .filter(fits)
            .filter(|row| sign(row, &key, b"").is_some())
            .collect();
        (is_rsa && !rows.is_empty()).then(|| Self {
            key: Arc::new(key),
            rows,
        })
    }
}

impl fmt::Debug for RsaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RsaKey")
    }
}

impl SigningKey for RsaKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let row = self.rows.iter().find(|row| offered.contains(&row.scheme))?;
        Some(Box::new(RsaSigner {
            key: Arc::clone(&self.key),
            row,
        }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

struct RsaSigner {
    key: Arc<Owned<sys::EVP_PKEY>>,
    row: &'static Row,
}

impl fmt::Debug for RsaSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RsaSigner")
    }
}

impl Signer for RsaSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        sign(self.row, &self.key, message).ok_or_else(|| Error::General("signing failed".to_owned()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.row.scheme
    }
}
