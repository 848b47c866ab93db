//! What both sides of TLS share: which ciphers, versions and curves a text selects, what PEM files hold, what a
//! connection has negotiated, and its channel bindings.
//!
//! This crate knows no settings by name and opens no socket. [`SelectionError`] and [`FileError`] therefore say what is
//! wrong, and the caller adds the name of the setting.

mod binding;
mod ciphers;
mod curves;
mod negotiated;
mod pem;
mod secp521r1;
mod versions;
mod x509;

pub use binding::{endpoint, exporter};
pub use ciphers::select_ciphers;
pub use curves::select_curves;
pub use negotiated::Negotiated;
pub use pem::{FileError, certificates, complete, files, private_key, revocation_lists};
pub use versions::select_versions;
pub use x509::{
    PairError, PeerRole, Revocation, SCHEMES, Trust, TrustError, Weakness, alternative_names, certified, is_for,
    verify_tls12_signature, verify_tls13_signature, weaknesses,
};

/// Why a text selects nothing. It is a whole clause that follows the name of the setting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectionError {
    /// Neither OpenSSL nor GnuTLS knows the word.
    #[error("unknown {kind} \"{word}\"")]
    Unknown {
        /// `word`, `cipher` or `command`.
        kind: &'static str,
        /// As written.
        word: String,
    },
    /// A cipher string that selects none of the suites that exist here.
    #[error("\"{text}\" leaves no cipher: there are {available}")]
    NoCipher {
        /// As written.
        text: String,
        /// OpenSSL's names, separated by commas.
        available: String,
    },
    /// A curve that does not exist here.
    #[error("no curve \"{0}\"; there are X25519, prime256v1, secp384r1, secp521r1, X25519MLKEM768")]
    NoSuchCurve(String),
    /// A list without any curve.
    #[error("no curve is named")]
    NoCurve,
    /// The selected suites are all of an older version.
    #[error("the ciphers and the oldest version together leave nothing")]
    NoVersion,
}
