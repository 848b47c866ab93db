//! TLS between the two servers of a copy. Each knows the certificate of the other side's listener from etcd, so no
//! authority is needed.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs::default_provider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime},
    version::TLS13,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The name in all these certificates.
const NAME: &str = "ironbark.copy";

/// Who waits for a copy.
pub(super) struct Identity {
    pub(super) certificate: Vec<u8>,
    pub(super) acceptor: TlsAcceptor,
}

impl Identity {
    /// Makes a key and a certificate.
    pub(super) fn new() -> Result<Self, String> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([NAME.to_owned()]).map_err(|error| error.to_string())?;
        let key = PrivatePkcs8KeyDer::from(KeyPair::serialize_der(&signing_key));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                let builder = builder.with_no_client_auth();
                builder.with_single_cert(vec![cert.der().clone()], key.into())
            })
            .map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: cert.der().to_vec(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }
}

/// Connects only to who has this certificate and its key.
pub(super) fn connector(certificate: Vec<u8>) -> Result<(TlsConnector, ServerName<'static>), String> {
    let provider = Arc::new(default_provider());
    let verifier = Pinned {
        certificate,
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    certificate: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if **own == *self.certificate {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
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
