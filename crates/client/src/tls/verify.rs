//! The check of a server's certificate: its chain, and its names by `tls_reqsan`.

use std::{fmt, sync::Arc};

use ironbark_ber::{Reader, tags};
use ironbark_model::syntax::Certificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::RequireSan;

/// Without a verifier of chains every certificate is accepted.
///
/// The signature of the handshake is checked even then: a channel binding to the server's certificate means something
/// only if the server has its key.
pub(super) struct Verifier {
    chains: Option<Arc<WebPkiServerVerifier>>,
    names: Vec<ServerName<'static>>,
    require_san: RequireSan,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    pub(super) fn new(
        chains: Option<Arc<WebPkiServerVerifier>>,
        names: Vec<ServerName<'static>>,
        require_san: RequireSan,
        provider: &Arc<CryptoProvider>,
    ) -> Self {
        Self {
            chains,
            names,
            require_san,
            provider: Arc::clone(provider),
        }
    }

    /// Decides when the chain is sound and the subjectAltName has none of the names.
    fn check_common_name(&self, own: &CertificateDer<'_>, error: Error) -> Result<ServerCertVerified, Error> {
        let has_san = !matches!(
            &error,
            Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) if presented.is_empty()
        );
        let counts = match self.require_san {
            RequireSan::Never | RequireSan::Allow => true,
            RequireSan::Try => !has_san,
            RequireSan::Demand => false,
        };
        let common_name = common_name(own).filter(|_| counts);
        match common_name.filter(|pattern| self.names.iter().any(|name| matches(pattern, name))) {
            Some(_) => Ok(ServerCertVerified::assertion()),
            None => Err(error),
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chains) = &self.chains else {
            return Ok(ServerCertVerified::assertion());
        };
        // The names are checked last: their error says that the chain is sound.
        let mut error = Error::InvalidCertificate(CertificateError::NotValidForName);
        for name in self.names.iter().chain(self.names.is_empty().then_some(name)) {
            match chains.verify_server_cert(own, issuers, name, ocsp, now) {
                Ok(verified) if self.require_san != RequireSan::Never => return Ok(verified),
                Ok(_) => {}
                Err(other) if is_about_the_name(&other) => error = other,
                Err(other) => return Err(other),
            }
        }
        self.check_common_name(own, error)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn is_about_the_name(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })
    )
}

/// The last CN of the subject.
fn common_name(certificate: &[u8]) -> Option<String> {
    let subject = Certificate::parse(certificate).ok()?.subject;
    let mut names = Reader::new(subject).sequence().ok()?;
    let mut last = None;
    while !names.is_empty() {
        let mut assertions = names.nested(tags::SET).ok()?;
        while !assertions.is_empty() {
            let mut assertion = assertions.sequence().ok()?;
            let kind = assertion.element(tags::OBJECT_IDENTIFIER).ok()?;
            let value = assertion.read_any().ok()?;
            if kind == COMMON_NAME {
                last = std::str::from_utf8(value.content).ok().map(str::to_owned);
            }
        }
    }
    last
}

/// 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

/// Whether a CN is the name of a host. `*.` stands for one label.
fn matches(pattern: &str, name: &ServerName<'_>) -> bool {
    let text = name.to_str();
    let is_covered = || {
        let (_, parent) = text.split_once('.')?;
        Some(pattern.strip_prefix("*.")?.eq_ignore_ascii_case(parent))
    };
    let is_name = matches!(name, ServerName::DnsName(_));
    pattern.eq_ignore_ascii_case(&text) || (is_name && is_covered().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_name_is_a_host_or_a_wildcard_for_one_label() {
        let is = |pattern: &str, name: &str| matches(pattern, &ServerName::try_from(name.to_owned()).unwrap());
        assert!(is("ldap.Example.com", "LDAP.example.com"));
        assert!(is("*.example.com", "ldap.example.com"));
        assert!(!is("*.example.com", "a.ldap.example.com"));
        assert!(!is("*.example.com", "example.com"));
        assert!(is("127.0.0.1", "127.0.0.1"));
        assert!(!is("*.0.0.1", "127.0.0.1"));
        assert!(!is("", "localhost"));
    }
}
