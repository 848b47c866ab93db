//! TLS: certificates, who is asked for one, protocol versions and ciphers. The server makes a context of them.

use std::path::PathBuf;

use crate::{statement::Statement, value::Value};

/// The `TLS*` settings. `Default` is a server without TLS.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TlsConfig {
    /// `TLSCACertificate`: DER of one certificate.
    pub ca_certificate: Option<Vec<u8>>,
    /// `TLSCACertificateFile`: PEM of any number of certificates, and of revocation lists.
    pub ca_certificate_file: Option<PathBuf>,
    /// `TLSCACertificatePath`: directories of such files, separated by semicolons.
    pub ca_certificate_path: Option<String>,
    /// `TLSCertificate`: DER of the server's certificate.
    pub certificate: Option<Vec<u8>>,
    /// `TLSCertificateFile`: PEM of the server's certificate, and of its issuers behind it.
    pub certificate_file: Option<PathBuf>,
    /// `TLSCertificateKey`: DER of the private key.
    pub key: Option<Vec<u8>>,
    /// `TLSCertificateKeyFile`: PEM of the private key.
    pub key_file: Option<PathBuf>,
    /// `TLSCipherSuite`: in the words of OpenSSL or of GnuTLS.
    pub cipher_suite: Option<String>,
    /// `TLSCRLCheck`.
    pub crl_check: CrlCheck,
    /// `TLSCRLFile`: PEM of revocation lists.
    pub crl_file: Option<PathBuf>,
    /// `TLSVerifyClient`.
    pub verify_client: VerifyClient,
    /// `TLSECName`: names of curves, separated by colons.
    pub curves: Option<String>,
    /// `TLSProtocolMin`: 3.1 is TLS 1.0, 3.4 is TLS 1.3.
    pub protocol_min: ProtocolVersion,
}

impl TlsConfig {
    /// Whether the server is to speak TLS: it has a certificate or a key. Authorities alone are for connections to
    /// others.
    pub fn is_configured(&self) -> bool {
        self.certificate.is_some() || self.certificate_file.is_some() || self.key.is_some() || self.key_file.is_some()
    }
}

/// What is done about a client's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum VerifyClient {
    /// It is not asked for.
    #[default]
    Never,
    /// One that cannot be verified counts as none.
    Allow,
    /// One that cannot be verified ends the connection.
    Try,
    /// So does none.
    Demand,
}

/// Which certificates of a client's chain must not be revoked, and need a revocation list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CrlCheck {
    /// None needs one.
    #[default]
    None,
    /// The client's own.
    Peer,
    /// The whole chain.
    All,
}

/// A protocol version as it travels, major number first. The order is that of age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ProtocolVersion {
    /// 3 of all versions in use.
    pub major: u8,
    /// 1: TLS 1.0, 4: TLS 1.3.
    pub minor: u8,
}

impl Value for Option<String> {
    fn parse(statement: &Statement<'_>) -> Result<Self, String> {
        Ok(Some(statement.one()?.to_owned()))
    }
    fn text(&self) -> Vec<String> {
        self.iter().cloned().collect()
    }
}
