//! The check of a server's certificate: its chain, and its names by `tls_reqsan`.

use std::fmt;

use ironbark_ber::{Reader, tags};
use ironbark_model::syntax::Certificate;
use ironbark_tls::{SCHEMES, Trust, alternative_names, is_for, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::RequireSan;

/// Without trust in anybody every certificate is accepted.
///
/// The signature of the handshake is checked even then: a channel binding to the server's certificate means something
/// only if the server has its key.
pub(super) struct Verifier {
    trust: Option<Trust>,
    names: Vec<ServerName<'static>>,
    require_san: RequireSan,
}

impl Verifier {
    pub(super) fn new(trust: Option<Trust>, names: Vec<ServerName<'static>>, require_san: RequireSan) -> Self {
        Self {
            trust,
            names,
            require_san,
        }
    }

    /// Whether a certificate, whose chain is sound, has one of the names.
    fn is_for_us(&self, own: &CertificateDer<'_>, sent: &ServerName<'_>) -> bool {
        let sent = self.names.is_empty().then_some(sent);
        let mut names = self.names.iter().chain(sent);
        if self.require_san != RequireSan::Never && names.clone().any(|name| is_for(own, name)) {
            return true;
        }
        let counts = match self.require_san {
            RequireSan::Never | RequireSan::Allow => true,
            RequireSan::Try => alternative_names(own).is_none(),
            RequireSan::Demand => false,
        };
        let common_name = common_name(own).filter(|_| counts);
        common_name.is_some_and(|pattern| names.any(|name| matches(&pattern, name)))
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
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trust) = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        trust.verify(own, issuers, now)?;
        if !self.is_for_us(own, name) {
            let expected = self.names.first().cloned().unwrap_or_else(|| name.to_owned());
            let presented = alternative_names(own).unwrap_or_default();
            return Err(CertificateError::NotValidForNameContext { expected, presented }.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SCHEMES.to_vec()
    }
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
