//! The signatures of handshakes: made with keys that rustls does not take, and verified with the key of any certificate
//! (RFC 8446 §4.2.3 and §4.4.3, RFC 5246 §4.7).

use std::ptr;

use aws_lc_sys as sys;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme,
    client::danger::HandshakeSignatureValid, pki_types::CertificateDer,
};

use super::{
    Certificate,
    handles::{Owned, forget_errors},
};

/// Every scheme, in the order of preference.
pub const SCHEMES: [SignatureScheme; 13] = {
    let mut schemes = [SignatureScheme::ED25519; 13];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "the lengths are equal; the compiler sees it")]
    while at < ROWS.len() {
        schemes[at] = ROWS[at].scheme;
        at += 1;
    }
    schemes
};

/// How a scheme signs.
pub(super) struct Row {
    pub(super) scheme: SignatureScheme,
    /// The kind of the key.
    pub(super) kind: i32,
    hash: Hash,
    /// In octets; 0 with a hash of the scheme's own.
    pub(super) hash_length: usize,
    padding: Padding,
    /// The curve that TLS 1.3 asks for.
    curve: i32,
}

type Hash = Option<unsafe extern "C" fn() -> *const sys::EVP_MD>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    None,
    /// Not in TLS 1.3.
    Pkcs1,
    Pss,
}

const fn row(scheme: SignatureScheme, kind: i32, hash: Hash, hash_length: usize, padding: Padding, curve: i32) -> Row {
    Row {
        scheme,
        kind,
        hash,
        hash_length,
        padding,
        curve,
    }
}

const SHA256: Hash = Some(sys::EVP_sha256);
const SHA384: Hash = Some(sys::EVP_sha384);
const SHA512: Hash = Some(sys::EVP_sha512);
const RSA: i32 = sys::EVP_PKEY_RSA;
const PSS_KEY: i32 = sys::EVP_PKEY_RSA_PSS;
const EC: i32 = sys::EVP_PKEY_EC;

/// rustls has no name for the schemes of keys that are for RSASSA-PSS alone.
pub(super) const ROWS: [Row; 13] = {
    use Padding::{None as No, Pkcs1, Pss};
    use SignatureScheme as S;
    [
        row(S::ECDSA_NISTP256_SHA256, EC, SHA256, 32, No, sys::NID_X9_62_prime256v1),
        row(S::ECDSA_NISTP384_SHA384, EC, SHA384, 48, No, sys::NID_secp384r1),
        row(S::ECDSA_NISTP521_SHA512, EC, SHA512, 64, No, sys::NID_secp521r1),
        row(S::ED25519, sys::EVP_PKEY_ED25519, None, 0, No, 0),
        row(S::RSA_PSS_SHA256, RSA, SHA256, 32, Pss, 0),
        row(S::RSA_PSS_SHA384, RSA, SHA384, 48, Pss, 0),
        row(S::RSA_PSS_SHA512, RSA, SHA512, 64, Pss, 0),
        row(S::Unknown(0x0809), PSS_KEY, SHA256, 32, Pss, 0),
        row(S::Unknown(0x080a), PSS_KEY, SHA384, 48, Pss, 0),
        row(S::Unknown(0x080b), PSS_KEY, SHA512, 64, Pss, 0),
        row(S::RSA_PKCS1_SHA256, RSA, SHA256, 32, Pkcs1, 0),
        row(S::RSA_PKCS1_SHA384, RSA, SHA384, 48, Pkcs1, 0),
        row(S::RSA_PKCS1_SHA512, RSA, SHA512, 64, Pkcs1, 0),
    ]
};

/// Verifies the signature of a handshake of TLS 1.2 with the key of the peer's certificate.
///
/// # Errors
/// It is not the signature of this key.
pub fn verify_tls12_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    verify(message, certificate, signed, |_, _| true)
}

/// Verifies the signature of a handshake of TLS 1.3, which ties a scheme to a curve.
///
/// # Errors
/// It is not the signature of this key, or of a scheme that TLS 1.3 does not have.
pub fn verify_tls13_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    verify(message, certificate, signed, |row, key| {
        row.padding != Padding::Pkcs1 && (row.curve == 0 || row.curve == curve_of(key))
    })
}

fn verify(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    is_allowed: impl FnOnce(&Row, *const sys::EVP_PKEY) -> bool,
) -> Result<HandshakeSignatureValid, Error> {
    let certificate = Certificate::parse(certificate).ok_or(CertificateError::BadEncoding)?;
    let key = public_key(&certificate).ok_or(CertificateError::BadEncoding)?;
    let fits = |row: &&Row| row.scheme == signed.scheme && row.kind == kind_of(&key);
    let row = ROWS.iter().find(fits).filter(|row| is_allowed(row, key.as_ptr()));
    let row = row.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
    let is_good = is_signature(row, &key, message, signed.signature());
    forget_errors();
    is_good
        .then(HandshakeSignatureValid::assertion)
        .ok_or_else(|| CertificateError::BadSignature.into())
}

/// The key of a certificate, with a reference of its own.
#[allow(unsafe_code, reason = "a call of libcrypto")]
fn public_key(certificate: &Certificate) -> Option<Owned<sys::EVP_PKEY>> {
    // SAFETY: it reads a certificate.
    Owned::take(unsafe { sys::X509_get_pubkey(certificate.as_ptr()) })
}

#[allow(unsafe_code, reason = "a call of libcrypto")]
pub(super) fn kind_of(key: &Owned<sys::EVP_PKEY>) -> i32 {
    // SAFETY: it reads a key.
    unsafe { sys::EVP_PKEY_id(key.as_ptr()) }
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn curve_of(key: *const sys::EVP_PKEY) -> i32 {
    // SAFETY: they read a key; one of another kind has no curve.
    unsafe {
        let key = sys::EVP_PKEY_get0_EC_KEY(key);
        if key.is_null() {
            return sys::NID_undef;
        }
        sys::EC_GROUP_get_curve_name(sys::EC_KEY_get0_group(key))
    }
}

impl Row {
    #[allow(unsafe_code, reason = "a call of libcrypto")]
    fn digest(&self) -> *const sys::EVP_MD {
        // SAFETY: it gives a table that stays.
        self.hash.map_or(ptr::null(), |hash| unsafe { hash() })
    }

    /// Sets the padding. With PSS the salt is as long as the hash, in TLS as in libcrypto's default for -1.
    #[allow(unsafe_code, reason = "calls of libcrypto")]
    fn pad(&self, context: *mut sys::EVP_PKEY_CTX) -> bool {
        // SAFETY: the context is one that was begun.
        unsafe {
            match self.padding {
                Padding::None => true,
                Padding::Pkcs1 => sys::EVP_PKEY_CTX_set_rsa_padding(context, sys::RSA_PKCS1_PADDING) == 1,
                Padding::Pss => {
                    sys::EVP_PKEY_CTX_set_rsa_padding(context, sys::RSA_PKCS1_PSS_PADDING) == 1
                        && sys::EVP_PKEY_CTX_set_rsa_pss_saltlen(context, -1) == 1
                }
            }
        }
    }
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn is_signature(row: &Row, key: &Owned<sys::EVP_PKEY>, message: &[u8], signature: &[u8]) -> bool {
    // SAFETY: it makes a new context.
    let Some(context) = Owned::take(unsafe { sys::EVP_MD_CTX_new() }) else {
        return false;
    };
    let (hash, mut settings) = (row.digest(), ptr::null_mut());
    // SAFETY: the key outlives the context.
    let is_begun = unsafe {
        sys::EVP_DigestVerifyInit(context.as_ptr(), &raw mut settings, hash, ptr::null_mut(), key.as_ptr()) == 1
    };
    if !is_begun || !row.pad(settings) {
        return false;
    }
    let [message, signature] = [message, signature].map(|octets| (octets.as_ptr(), octets.len()));
    // SAFETY: both outlive the call.
    unsafe { sys::EVP_DigestVerify(context.as_ptr(), signature.0, signature.1, message.0, message.1) == 1 }
}

/// Signs; `None` if this key cannot.
#[allow(unsafe_code, reason = "calls of libcrypto")]
pub(super) fn sign(row: &Row, key: &Owned<sys::EVP_PKEY>, message: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: it makes a new context.
    let context = Owned::take(unsafe { sys::EVP_MD_CTX_new() })?;
    let (hash, mut settings) = (row.digest(), ptr::null_mut());
    // SAFETY: the key outlives the context.
    let is_begun = unsafe {
        sys::EVP_DigestSignInit(context.as_ptr(), &raw mut settings, hash, ptr::null_mut(), key.as_ptr()) == 1
    };
    if !is_begun || !row.pad(settings) {
        forget_errors();
        return None;
    }
    let mut signature = vec![0; length_of(key)];
    let mut length = signature.len();
    let (start, octets) = (signature.as_mut_ptr(), message.len());
    // SAFETY: the message outlives the call; the signature has room for `length` octets.
    let is_signed =
        unsafe { sys::EVP_DigestSign(context.as_ptr(), start, &raw mut length, message.as_ptr(), octets) == 1 };
    forget_errors();
    signature.truncate(length);
    is_signed.then_some(signature)
}

/// The longest signature of a key, in octets: the length of its modulus.
#[allow(unsafe_code, reason = "a call of libcrypto")]
pub(super) fn length_of(key: &Owned<sys::EVP_PKEY>) -> usize {
    // SAFETY: it reads a key.
    usize::try_from(unsafe { sys::EVP_PKEY_size(key.as_ptr()) }).unwrap_or_default()
}
