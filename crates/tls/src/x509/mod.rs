//! Certificates by libcrypto's rules, which are those of OpenSSL: what slapd and its clients take, we take. rustls
//! alone would refuse certificates of version 1, those of authorities that a server shows itself, unknown critical
//! extensions in one's own, and short or unusual keys.

mod certified;
mod handles;
mod names;
mod signatures;
mod trust;
mod weakness;

use aws_lc_sys as sys;

pub use self::{
    certified::{PairError, certified},
    names::{alternative_names, is_for},
    signatures::{SCHEMES, verify_tls12_signature, verify_tls13_signature},
    trust::{PeerRole, Revocation, Trust, TrustError},
    weakness::{Weakness, weaknesses},
};

use self::handles::{Owned, from_der};

/// A certificate.
struct Certificate(Owned<sys::X509>);

impl Certificate {
    fn parse(der: &[u8]) -> Option<Self> {
        from_der(der, sys::d2i_X509).map(Self)
    }

    fn as_ptr(&self) -> *mut sys::X509 {
        self.0.as_ptr()
    }
}
