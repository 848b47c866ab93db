//! TLS: certificates, certificates of clients, protocol versions and ciphers. The server makes a context from these.

use std::path::PathBuf;

use crate::{SettingError, statement::Statement, value::Value};

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
    /// `TLSCipherSuite`: in the syntax of OpenSSL or GnuTLS.
    pub cipher_suite: Option<String>,
    /// `TLSCRLCheck`.
    pub crl_check: ClientCrlCheck,
    /// `TLSCRLFile`: PEM of revocation lists.
    pub crl_file: Option<PathBuf>,
    /// `TLSVerifyClient`.
    pub verify_client: VerifyClient,
    /// `TLSECName`: names of curves, separated by colons.
    pub curves: Option<String>,
    /// `TLSProtocolMin`: 3.1 is TLS 1.0, 3.4 is TLS 1.3.
    pub protocol_min: ProtocolVersion,
    /// `tls-strict`: weak certificates are refused.
    pub is_strict: bool,
}

impl TlsConfig {
    /// Whether both the certificate and the key are others than those of `former`.
    pub fn has_other_pair_than(&self, former: &Self) -> bool {
        let has_certificate = self.certificate.is_some() || self.certificate_file.is_some();
        let has_key = self.key.is_some() || self.key_file.is_some();
        let is_other_certificate =
            self.certificate != former.certificate || self.certificate_file != former.certificate_file;
        let is_other_key = self.key != former.key || self.key_file != former.key_file;
        has_certificate && has_key && is_other_certificate && is_other_key
    }

    /// Whether the server should speak TLS: it has a certificate or a key. Authorities alone serve connections to other
    /// servers.
    pub fn is_configured(&self) -> bool {
        self.certificate.is_some() || self.certificate_file.is_some() || self.key.is_some() || self.key_file.is_some()
    }
}

/// The treatment of a client's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum VerifyClient {
    /// The server does not ask for one.
    #[default]
    Never,
    /// A certificate that cannot be verified counts as none.
    Allow,
    /// A certificate that cannot be verified ends the connection.
    Try,
    /// A missing certificate also ends it.
    Demand,
}

/// Which certificates in a client's chain are checked for revocation, and need a revocation list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ClientCrlCheck {
    /// None.
    #[default]
    None,
    /// The client's own.
    Peer,
    /// The whole chain.
    All,
}

/// A protocol version in the form of the protocol, major number first. Older versions are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ProtocolVersion {
    /// 3 for all versions in use.
    pub major: u8,
    /// 1: TLS 1.0, 4: TLS 1.3.
    pub minor: u8,
}

impl Value for Option<String> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        Ok(Some(statement.one()?.to_owned()))
    }
    fn text(&self) -> Vec<String> {
        self.iter().cloned().collect()
    }
}
