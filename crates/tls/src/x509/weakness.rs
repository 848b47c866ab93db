//! What is weak about a certificate, though it works.

use std::{ffi::c_int, fmt};

use aws_lc_sys as sys;
use rustls::CertificateError;

use super::{Certificate, trust::other};

/// A reason to make a better certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weakness {
    /// Version 1 or 2: it has no names of hosts, and does not say whether it is an authority's.
    OldVersion,
    /// An RSA key of so many bits, less than 2,048.
    ShortKey(u32),
    /// Signed with MD5 or SHA-1, which can be forged.
    BrokenHash,
    /// Signed with SHA-224.
    ShortHash,
    /// It may sign others, and a client or server shows it itself.
    Authority,
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldVersion => f.write_str("it is of version 1 and has no names of hosts"),
            Self::ShortKey(bits) => write!(f, "its key has only {bits} bits"),
            Self::BrokenHash => f.write_str("it is signed with MD5 or SHA-1"),
            Self::ShortHash => f.write_str("it is signed with SHA-224"),
            Self::Authority => f.write_str("it is an authority's (CA:TRUE)"),
        }
    }
}

/// The shortest RSA key that a peer may have, in bits: that of OpenSSL's security level 1.
const LEAST_BITS: u32 = 1024;
/// A shorter RSA key is weak.
const GOOD_BITS: u32 = 2048;

/// What is weak about a certificate that a client or server shows as its own; empty also if it cannot be read.
pub fn weaknesses(own: &[u8]) -> Vec<Weakness> {
    let Some(own) = Certificate::parse(own) else {
        return Vec::new();
    };
    let mut all = of_own(&own);
    all.extend(of_signature(&own));
    all
}

/// Refuses chains that nobody should take; the strict form refuses all weak ones. The signature of the last certificate
/// does not count: it is trusted by itself.
pub(super) fn check(chain: &[Certificate], is_strict: bool) -> Result<(), CertificateError> {
    let own = chain.first().map(of_own).unwrap_or_default();
    let issuers = chain.iter().skip(1).filter_map(of_key);
    let signatures = chain.iter().rev().skip(1).filter_map(of_signature);
    for weakness in own.into_iter().chain(issuers).chain(signatures) {
        let is_refused = match weakness {
            Weakness::BrokenHash => true,
            Weakness::ShortKey(bits) => is_strict || bits < LEAST_BITS,
            _ => is_strict,
        };
        if is_refused {
            return Err(other(&format!("certificate: {weakness}")));
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn of_own(own: &Certificate) -> Vec<Weakness> {
    // SAFETY: they read a certificate.
    let (version, flags) = unsafe {
        (
            sys::X509_get_version(own.as_ptr()),
            sys::X509_get_extension_flags(own.as_ptr()),
        )
    };
    let is_old = version < i64::from(sys::X509_VERSION_3);
    let is_authority = flags & sys::EXFLAG_CA.unsigned_abs() != 0;
    let found = [
        is_old.then_some(Weakness::OldVersion),
        is_authority.then_some(Weakness::Authority),
        of_key(own),
    ];
    found.into_iter().flatten().collect()
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn of_key(certificate: &Certificate) -> Option<Weakness> {
    // SAFETY: the key belongs to the certificate.
    let (kind, bits) = unsafe {
        let key = sys::X509_get0_pubkey(certificate.as_ptr());
        if key.is_null() {
            return None;
        }
        (sys::EVP_PKEY_id(key), sys::EVP_PKEY_bits(key))
    };
    let is_rsa = matches!(kind, sys::EVP_PKEY_RSA | sys::EVP_PKEY_RSA_PSS);
    let bits = bits.unsigned_abs();
    (is_rsa && bits < GOOD_BITS).then_some(Weakness::ShortKey(bits))
}

#[allow(unsafe_code, reason = "calls of libcrypto")]
fn of_signature(certificate: &Certificate) -> Option<Weakness> {
    let mut hash: c_int = 0;
    // SAFETY: it reads a certificate, and writes the number of the hash.
    unsafe {
        let signature = sys::X509_get_signature_nid(certificate.as_ptr());
        sys::OBJ_find_sigid_algs(signature, &raw mut hash, std::ptr::null_mut());
    }
    match hash {
        sys::NID_md4 | sys::NID_md5 | sys::NID_sha1 => Some(Weakness::BrokenHash),
        sys::NID_sha224 => Some(Weakness::ShortHash),
        _ => None,
    }
}
