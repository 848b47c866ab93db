//! TLS between the two servers of a copy. Each knows the certificate of the other side's listener from etcd, so no
//! authority is needed.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::aws_lc_rs::default_provider,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName},
    version::TLS13,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::CopyError;

/// The name in all these certificates.
const NAME: &str = "ironbark.copy";

/// Who waits for a copy.
pub(super) struct Identity {
    pub(super) certificate: Vec<u8>,
    pub(super) acceptor: TlsAcceptor,
}

impl Identity {
    /// Makes a key and a certificate.
    pub(super) fn new() -> Result<Self, CopyError> {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(KeyPair::serialize_der(&signing_key));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                let builder = builder.with_no_client_auth();
                builder.with_single_cert(vec![cert.der().clone()], key.into())
            })?;
        Ok(Self {
            certificate: cert.der().to_vec(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }
}

/// Connects only to who has this certificate and its key: it is the only root, and no other was signed with that key.
pub(super) fn connector(certificate: Vec<u8>) -> Result<(TlsConnector, ServerName<'static>), CopyError> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate))?;
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(NAME)?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Whether a connection comes about to who has `identity`, with the certificate of `known`.
    async fn connects(identity: &Identity, known: &Identity) -> bool {
        let (one, other) = tokio::io::duplex(1 << 16);
        let (connector, name) = connector(known.certificate.clone()).unwrap();
        let (connected, _) = tokio::join!(connector.connect(name, one), identity.acceptor.accept(other));
        connected.is_ok()
    }

    #[tokio::test]
    async fn only_who_has_the_very_certificate_is_connected_to() {
        let (own, other) = (Identity::new().unwrap(), Identity::new().unwrap());
        assert!(connects(&own, &own).await);
        assert!(!connects(&other, &own).await, "of the same name, with another key");
        assert!(connector(b"no certificate".to_vec()).is_err());
    }
}
