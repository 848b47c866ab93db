//! `TLSVerifyClient`: the treatment of a client's certificate.

use std::{fmt, sync::Arc};

use ironbark_config::{CrlCheck, SettingError, TlsConfig, VerifyClient};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use super::files::Material;

/// The verifier of clients' certificates, and whether a failed verification ends the connection.
pub(super) enum Clients {
    /// Certificates are not asked for.
    NotAsked,
    /// A certificate from a client was verified in the handshake.
    Verified(Arc<dyn ClientCertVerifier>),
    /// A certificate from a client is verified after the handshake: `allow`.
    Unverified(Arc<dyn ClientCertVerifier>),
    /// Authorities or revocation lists are missing, which the text names: each certificate is refused.
    Unverifiable(Arc<Unverifiable>, &'static str),
}

impl Clients {
    /// Chosen by the settings.
    ///
    /// # Errors
    /// A revocation list that cannot be read.
    pub(super) fn new(
        settings: &TlsConfig,
        material: &Material,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, SettingError> {
        if settings.verify_client == VerifyClient::Never {
            return Ok(Self::NotAsked);
        }
        let mut roots = RootCertStore::empty();
        let (used, _) = roots.add_parsable_certificates(material.authorities.iter().cloned());
        if used == 0 {
            let lack = "TLSVerifyClient needs authorities to verify by: TLSCACertificateFile, TLSCACertificatePath";
            return Ok(Self::unverifiable(settings, provider, lack));
        }
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        if settings.verify_client != VerifyClient::Demand {
            builder = builder.allow_unauthenticated();
        }
        if settings.crl_check == CrlCheck::None {
            // For GnuTLS's lists: a certificate that is on no list is accepted.
            builder = builder
                .with_crls(material.revocations.clone())
                .allow_unknown_revocation_status();
        } else {
            if material.revocations.is_empty() {
                let lack = "TLSCRLCheck needs revocation lists: TLSCRLFile, TLSCACertificatePath";
                return Ok(Self::unverifiable(settings, provider, lack));
            }
            builder = builder
                .with_crls(material.revocations.clone())
                .enforce_revocation_expiration();
        }
        if settings.crl_check == CrlCheck::Peer {
            builder = builder.only_check_end_entity_revocation();
        }
        let verifier = builder.build().map_err(|error| format!("TLSVerifyClient: {error}"))?;
        Ok(if settings.verify_client == VerifyClient::Allow {
            Self::Unverified(verifier)
        } else {
            Self::Verified(verifier)
        })
    }

    /// Nothing proves a client's certificate.
    fn unverifiable(settings: &TlsConfig, provider: &CryptoProvider, lack: &'static str) -> Self {
        let verifier = Arc::new(Unverifiable {
            algorithms: provider.signature_verification_algorithms,
            is_mandatory: settings.verify_client == VerifyClient::Demand,
        });
        match settings.verify_client {
            VerifyClient::Allow => Self::NotAsked,
            _ => Self::Unverifiable(verifier, lack),
        }
    }

    /// The setting without which no certificate of a client can be verified.
    pub(super) fn lack(&self) -> Option<&'static str> {
        match self {
            Self::Unverifiable(_, lack) => Some(lack),
            Self::NotAsked | Self::Verified(_) | Self::Unverified(_) => None,
        }
    }

    /// The verifier that the handshake uses.
    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        match self {
            Self::NotAsked => WebPkiClientVerifier::no_client_auth(),
            Self::Verified(verifier) => Arc::clone(verifier),
            Self::Unverified(verifier) => Arc::new(Lenient(Arc::clone(verifier))),
            Self::Unverifiable(verifier, _) => Arc::<Unverifiable>::clone(verifier),
        }
    }

    /// Whether the certificates that a client has shown prove its identity.
    pub(super) fn accept(&self, chain: &[CertificateDer<'_>], now: Option<UnixTime>) -> bool {
        match (self, chain) {
            (Self::Verified(_), [_, ..]) => true,
            (Self::Unverified(verifier), [own, issuers @ ..]) => {
                now.is_some_and(|now| verifier.verify_client_cert(own, issuers, now).is_ok())
            }
            _ => false,
        }
    }
}

/// Accepts any certificate whose key the client holds. The certificate is verified afterwards.
struct Lenient(Arc<dyn ClientCertVerifier>);

impl fmt::Debug for Lenient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lenient")
    }
}

impl ClientCertVerifier for Lenient {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _own: &CertificateDer<'_>,
        _issuers: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Refuses every certificate. A client without one is served unless a certificate is mandatory.
pub(super) struct Unverifiable {
    algorithms: WebPkiSupportedAlgorithms,
    is_mandatory: bool,
}

impl fmt::Debug for Unverifiable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unverifiable")
    }
}

impl ClientCertVerifier for Unverifiable {
    fn client_auth_mandatory(&self) -> bool {
        self.is_mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _own: &CertificateDer<'_>,
        _issuers: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
