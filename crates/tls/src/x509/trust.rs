//! Whether a chain of certificates leads to an authority that is trusted (RFC 5280 §6), as OpenSSL decides it.

use std::{
    ffi::{CStr, c_int, c_long},
    sync::Arc,
    time::Duration,
};

use aws_lc_sys as sys;
use rustls::{
    CertificateError, DistinguishedName, OtherError,
    pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime},
};

use super::{
    Certificate,
    handles::{Owned, Stack, forget_errors, from_der},
    weakness,
};

/// Whose certificate it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerRole {
    /// A client's.
    Client,
    /// A server's.
    Server,
}

/// Which certificates of a chain must be on a revocation list's good side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Revocation {
    /// What a list names is refused. A certificate without a list, or with one that is too old, is accepted.
    IfListed,
    /// The peer's own needs a list that is in force.
    Own,
    /// Each needs one.
    All,
}

/// The authorities that are trusted, and their revocation lists.
pub struct Trust {
    store: Owned<sys::X509_STORE>,
    subjects: Vec<DistinguishedName>,
    peer: PeerRole,
    revocation: Revocation,
    has_lists: bool,
    is_strict: bool,
}

/// Why nothing can be verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrustError {
    /// None of the authorities' certificates can be read, or there are none.
    #[error("no authority")]
    NoAuthority,
    /// There is none, and certificates need one.
    #[error("no revocation list")]
    NoList,
    /// It is no revocation list of X.509.
    #[error("a damaged revocation list")]
    BadList,
    /// There is no memory.
    #[error("no memory")]
    NoMemory,
}

/// The longest chain between a peer's certificate and the authority.
const MAX_DEPTH: c_int = 10;

impl Trust {
    /// Authorities that cannot be read are left out. `is_strict`: chains with a [`Weakness`](super::Weakness) are
    /// refused.
    ///
    /// # Errors
    /// See [`TrustError`].
    pub fn new(
        peer: PeerRole,
        authorities: &[CertificateDer<'_>],
        revocation: Revocation,
        lists: &[CertificateRevocationListDer<'_>],
        is_strict: bool,
    ) -> Result<Self, TrustError> {
        let store = new_store()?;
        let mut subjects = Vec::new();
        let mut is_empty = true;
        for der in authorities {
            let Some(authority) = Certificate::parse(der) else {
                continue;
            };
            add_authority(&store, &authority)?;
            is_empty = false;
            if let Ok(read) = ironbark_model::syntax::Certificate::parse(der) {
                subjects.push(DistinguishedName::from(read.subject.to_vec()));
            }
        }
        if is_empty {
            return Err(TrustError::NoAuthority);
        }
        if lists.is_empty() && revocation != Revocation::IfListed {
            return Err(TrustError::NoList);
        }
        for der in lists {
            let list = from_der(der, sys::d2i_X509_CRL).ok_or(TrustError::BadList)?;
            add_list(&store, &list)?;
        }
        Ok(Self {
            store,
            subjects,
            peer,
            revocation,
            has_lists: !lists.is_empty(),
            is_strict,
        })
    }

    /// The names of the authorities, for the request of a client's certificate.
    pub fn subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    /// Verifies a peer's certificate with the issuers that it has sent. The names of a server are another question:
    /// [`is_for`](super::is_for).
    ///
    /// # Errors
    /// Why the chain is not trusted.
    pub fn verify(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        let own = Certificate::parse(own).ok_or(CertificateError::BadEncoding)?;
        let issuers: Option<Vec<_>> = issuers
            .iter()
            .map(|der| Certificate::parse(der).map(|one| one.0))
            .collect();
        let issuers = issuers.ok_or(CertificateError::BadEncoding)?;
        let chain = self.build(&own, &issuers, now)?;
        weakness::check(&chain, self.is_strict)
    }

    /// The chain up to the authority.
    #[allow(unsafe_code, reason = "calls of libcrypto")]
    fn build(
        &self,
        own: &Certificate,
        issuers: &[Owned<sys::X509>],
        now: UnixTime,
    ) -> Result<Vec<Certificate>, CertificateError> {
        let no_memory = || other("no memory");
        let issuers = Stack::of(issuers).ok_or_else(no_memory)?;
        // SAFETY: it makes a new context.
        let context = Owned::take(unsafe { sys::X509_STORE_CTX_new() }).ok_or_else(no_memory)?;
        // SAFETY: store, certificate and list outlive the context, which is dropped first.
        let is_ready = unsafe {
            sys::X509_STORE_CTX_init(context.as_ptr(), self.store.as_ptr(), own.as_ptr(), issuers.as_ptr()) == 1
                && sys::X509_STORE_CTX_set_default(context.as_ptr(), self.purpose().as_ptr()) == 1
        };
        if !is_ready {
            return Err(no_memory());
        }
        // SAFETY: the parameters belong to the context.
        unsafe {
            let parameters = sys::X509_STORE_CTX_get0_param(context.as_ptr());
            sys::X509_VERIFY_PARAM_set_flags(parameters, self.flags());
            sys::X509_VERIFY_PARAM_set_depth(parameters, MAX_DEPTH);
            sys::X509_VERIFY_PARAM_set_time_posix(parameters, i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
            if self.revocation == Revocation::IfListed {
                sys::X509_STORE_CTX_set_verify_cb(context.as_ptr(), Some(no_list_is_no_error));
            }
        }
        // SAFETY: the context is ready.
        let is_good = unsafe { sys::X509_verify_cert(context.as_ptr()) } == 1;
        forget_errors();
        if is_good {
            Ok(chain_of(&context))
        } else {
            Err(refusal(&context, now))
        }
    }

    fn purpose(&self) -> &'static CStr {
        match self.peer {
            PeerRole::Client => c"ssl_client",
            PeerRole::Server => c"ssl_server",
        }
    }

    /// An authority that is named is trusted, also if another one has signed it: GnuTLS does so, and slapd with it.
    fn flags(&self) -> std::ffi::c_ulong {
        let lists = match self.revocation {
            Revocation::IfListed if !self.has_lists => 0,
            Revocation::Own => sys::X509_V_FLAG_CRL_CHECK,
            Revocation::IfListed | Revocation::All => sys::X509_V_FLAG_CRL_CHECK | sys::X509_V_FLAG_CRL_CHECK_ALL,
        };
        let flags = sys::X509_V_FLAG_PARTIAL_CHAIN | sys::X509_V_FLAG_TRUSTED_FIRST | lists;
        std::ffi::c_ulong::from(flags.unsigned_abs())
    }
}

#[allow(unsafe_code, reason = "a call of libcrypto")]
fn new_store() -> Result<Owned<sys::X509_STORE>, TrustError> {
    // SAFETY: it makes a new store.
    Owned::take(unsafe { sys::X509_STORE_new() }).ok_or(TrustError::NoMemory)
}

#[allow(unsafe_code, reason = "a call of libcrypto")]
fn add_authority(store: &Owned<sys::X509_STORE>, authority: &Certificate) -> Result<(), TrustError> {
    // SAFETY: the store takes a reference of its own.
    let is_added = unsafe { sys::X509_STORE_add_cert(store.as_ptr(), authority.as_ptr()) } == 1;
    is_added.then_some(()).ok_or(TrustError::NoMemory)
}

#[allow(unsafe_code, reason = "a call of libcrypto")]
fn add_list(store: &Owned<sys::X509_STORE>, list: &Owned<sys::X509_CRL>) -> Result<(), TrustError> {
    // SAFETY: the store takes a reference of its own.
    let is_added = unsafe { sys::X509_STORE_add_crl(store.as_ptr(), list.as_ptr()) } == 1;
    is_added.then_some(()).ok_or(TrustError::BadList)
}

/// Copies of the references to the certificates of a chain, the peer's own first.
#[allow(unsafe_code, reason = "calls of libcrypto")]
fn chain_of(context: &Owned<sys::X509_STORE_CTX>) -> Vec<Certificate> {
    // SAFETY: the chain belongs to the context.
    let chain: *const sys::OPENSSL_STACK = unsafe { sys::X509_STORE_CTX_get0_chain(context.as_ptr()) }.cast();
    // SAFETY: as above; without a chain it has the length 0.
    let length = unsafe { sys::OPENSSL_sk_num(chain) };
    let member = |at| {
        // SAFETY: `at` is less than the length; a reference of our own keeps the certificate.
        unsafe {
            let certificate: *mut sys::X509 = sys::OPENSSL_sk_value(chain, at).cast();
            sys::X509_up_ref(certificate);
            Owned::take(certificate).map(Certificate)
        }
    };
    (0..length).filter_map(member).collect()
}

/// Called for each fault of a chain.
#[allow(unsafe_code, reason = "libcrypto calls it")]
unsafe extern "C" fn no_list_is_no_error(is_good: c_int, context: *mut sys::X509_STORE_CTX) -> c_int {
    // SAFETY: libcrypto passes its context.
    match unsafe { sys::X509_STORE_CTX_get_error(context) } {
        sys::X509_V_ERR_UNABLE_TO_GET_CRL | sys::X509_V_ERR_CRL_HAS_EXPIRED => 1,
        _ => is_good,
    }
}

/// Why a chain was refused.
#[allow(unsafe_code, reason = "calls of libcrypto")]
fn refusal(context: &Owned<sys::X509_STORE_CTX>, time: UnixTime) -> CertificateError {
    // SAFETY: the context has a result. The certificate at fault belongs to it, and the times to the certificate.
    let (code, not_before, not_after) = unsafe {
        let code = sys::X509_STORE_CTX_get_error(context.as_ptr());
        let faulty = sys::X509_STORE_CTX_get_current_cert(context.as_ptr());
        let read = |time| {
            let mut seconds = 0;
            sys::ASN1_TIME_to_posix(time, &raw mut seconds);
            UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
        };
        let times = (!faulty.is_null()).then(|| [sys::X509_get0_notBefore(faulty), sys::X509_get0_notAfter(faulty)]);
        let [not_before, not_after] = times.map_or([time; 2], |times| times.map(read));
        (code, not_before, not_after)
    };
    match code {
        sys::X509_V_ERR_CERT_HAS_EXPIRED => CertificateError::ExpiredContext { time, not_after },
        sys::X509_V_ERR_CERT_NOT_YET_VALID => CertificateError::NotValidYetContext { time, not_before },
        sys::X509_V_ERR_CERT_REVOKED => CertificateError::Revoked,
        sys::X509_V_ERR_CERT_SIGNATURE_FAILURE => CertificateError::BadSignature,
        sys::X509_V_ERR_INVALID_PURPOSE => CertificateError::InvalidPurpose,
        sys::X509_V_ERR_UNABLE_TO_GET_CRL => CertificateError::UnknownRevocationStatus,
        sys::X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT
        | sys::X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        | sys::X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE
        | sys::X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
        | sys::X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN => CertificateError::UnknownIssuer,
        _ => other(&words(code)),
    }
}

/// OpenSSL's words for a fault.
#[allow(unsafe_code, reason = "a call of libcrypto")]
fn words(code: c_int) -> String {
    // SAFETY: it gives a text that stays.
    let text = unsafe { CStr::from_ptr(sys::X509_verify_cert_error_string(c_long::from(code))) };
    text.to_string_lossy().into_owned()
}

/// A fault that rustls has no word for.
pub(super) fn other(text: &str) -> CertificateError {
    CertificateError::Other(OtherError(Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(
        text,
    ))))
}
