//! `TLSVerifyClient`: the treatment of a client's certificate.

use std::{fmt, sync::Arc};

use ironbark_config::{ClientCrlCheck, SettingError, TlsConfig, VerifyClient};
use ironbark_tls::{PeerRole, Revocation, SCHEMES, Trust, TrustError, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use super::files::Material;

/// The treatment of clients' certificates.
pub(super) enum Clients {
    /// Certificates are not asked for.
    NotAsked,
    /// They are.
    Asked(Arc<Verifier>),
}

impl Clients {
    /// Chosen by the settings.
    ///
    /// # Errors
    /// A revocation list that cannot be read.
    pub(super) fn new(settings: &TlsConfig, material: &Material) -> Result<Self, SettingError> {
        if settings.verify_client == VerifyClient::Never {
            return Ok(Self::NotAsked);
        }
        let revocation = match settings.crl_check {
            ClientCrlCheck::None => Revocation::IfListed,
            ClientCrlCheck::Peer => Revocation::Own,
            ClientCrlCheck::All => Revocation::All,
        };
        let trust = Trust::new(
            PeerRole::Client,
            &material.authorities,
            revocation,
            &material.revocations,
            settings.is_strict,
        );
        let trust = match trust {
            Ok(trust) => Ok(trust),
            Err(TrustError::NoAuthority) => {
                Err("TLSVerifyClient needs authorities to verify by: TLSCACertificateFile, TLSCACertificatePath")
            }
            Err(TrustError::NoList) => Err("TLSCRLCheck needs revocation lists: TLSCRLFile, TLSCACertificatePath"),
            Err(error) => return Err(format!("TLSVerifyClient: {error}").into()),
        };
        Ok(Self::Asked(Arc::new(Verifier {
            trust,
            level: settings.verify_client,
        })))
    }

    /// The setting without which no certificate of a client can be verified: each is refused.
    pub(super) fn lack(&self) -> Option<&'static str> {
        match self {
            Self::NotAsked => None,
            Self::Asked(verifier) => verifier.trust.as_ref().err().copied(),
        }
    }

    /// The verifier that the handshake uses.
    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        match self {
            Self::NotAsked => WebPkiClientVerifier::no_client_auth(),
            Self::Asked(verifier) => Arc::clone(verifier) as _,
        }
    }

    /// Whether the certificates that a client has shown prove its identity.
    pub(super) fn accept(&self, chain: &[CertificateDer<'_>], now: Option<UnixTime>) -> bool {
        match (self, chain) {
            (Self::Asked(verifier), [own, issuers @ ..]) if verifier.level == VerifyClient::Allow => {
                now.is_some_and(|now| verifier.verify(own, issuers, now).is_ok())
            }
            (Self::Asked(_), [_, ..]) => true,
            _ => false,
        }
    }
}

/// Verifies clients' certificates. With `allow` any is taken whose key the client holds; it is verified after the
/// handshake, by [`Clients::accept`].
pub(super) struct Verifier {
    /// Or what is missing.
    trust: Result<Trust, &'static str>,
    level: VerifyClient,
}

impl Verifier {
    fn verify(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        let trust = self.trust.as_ref().map_err(|_| CertificateError::UnknownIssuer)?;
        trust.verify(own, issuers, now)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Verifier {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        self.level == VerifyClient::Demand
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.trust.as_ref().map_or(&[], Trust::subjects)
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.level != VerifyClient::Allow {
            self.verify(own, issuers, now)?;
        }
        Ok(ClientCertVerified::assertion())
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
