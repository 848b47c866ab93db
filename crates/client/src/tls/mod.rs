//! TLS from the client's side: `ldaps://` and, after the server's consent, StartTLS (RFC 4511 §4.14).

mod authorities;
mod names;
mod verify;

use std::{io, sync::Arc};

use ironbark_tls::{Negotiated, SelectionError, certified, endpoint, select_ciphers, select_curves, select_versions};
use rustls::{
    ClientConfig, ClientConnection,
    client::Resumption,
    crypto::aws_lc_rs::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

use self::{authorities::Authorities, names::HostNames, verify::Verifier};
use crate::{ClientError, TlsSettings};

/// TLS for one attempt to connect: the settings with the content of their files.
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    names: HostNames,
    has_certificate: bool,
}

/// What TLS tells about a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NegotiatedTls {
    /// Protocol, cipher and strength.
    pub negotiated: Negotiated,
    /// Channel binding tls-server-end-point (RFC 5929 §4): the hash of the server's certificate.
    pub endpoint: Option<Vec<u8>>,
    /// Whether the settings have a certificate for the client, which SASL EXTERNAL needs.
    pub has_certificate: bool,
}

/// What is kept of a TLS session for the next connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsSessions {
    /// Nothing: each handshake is a full one.
    New,
    /// The server's ticket, so that the next handshake resumes the session.
    Resumed,
}

impl Tls {
    /// Reads the files, and may ask the resolver for this machine's name. It blocks. `host` is that of the URL; empty:
    /// this machine.
    ///
    /// # Errors
    /// [`ClientError::Setting`], which names the setting.
    pub(crate) fn prepare(settings: &TlsSettings, host: &str, sessions: TlsSessions) -> Result<Self, ClientError> {
        let mut provider = default_provider();
        provider.cipher_suites = select_ciphers(settings.cipher_suite.as_deref())
            .map_err(|error| ClientError::setting("tls_cipher_suite", error.to_string()))?;
        if let Some(curves) = &settings.curves {
            provider.kx_groups =
                select_curves(curves).map_err(|error| ClientError::setting("tls_ecname", error.to_string()))?;
        }
        let versions = select_versions(settings.protocol_min, &provider.cipher_suites)
            .map_err(|error: SelectionError| ClientError::setting("tls_protocol_min", error.to_string()))?;
        let provider = Arc::new(provider);
        let authorities = Authorities::read(settings)?;
        let names = HostNames::of(host, settings)?;
        let verifier = verifier(settings, &authorities, &names)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| ClientError::setting("tls_protocol_min", error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let own = own_certificate(settings, &authorities)?;
        let has_certificate = own.is_some();
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder.with_client_cert_resolver(
                certified(chain, key, &provider).map_err(|error| ClientError::setting("tls_key", error.to_string()))?,
            ),
        };
        config.resumption = match sessions {
            TlsSessions::New => Resumption::disabled(),
            TlsSessions::Resumed => Resumption::in_memory_sessions(KEPT_SESSIONS),
        };
        Ok(Self {
            config: Arc::new(config),
            names,
            has_certificate,
        })
    }

    /// Performs the handshake.
    ///
    /// # Errors
    /// Why it failed, in the words of the TLS library or of the system.
    pub(crate) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<(TlsStream<S>, NegotiatedTls)> {
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let connecting = connector.connect(self.names.to_send(), stream);
        let stream = connecting.await?;
        let channel = self.channel(stream.get_ref().1);
        Ok((stream, channel))
    }

    /// A connection whose handshake is still to come.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub(crate) fn begin(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.names.to_send())
    }

    fn channel(&self, connection: &ClientConnection) -> NegotiatedTls {
        let chain = connection.peer_certificates().unwrap_or_default();
        NegotiatedTls {
            negotiated: Negotiated::of(connection),
            endpoint: chain.first().and_then(|certificate| endpoint(certificate)),
            has_certificate: self.has_certificate,
        }
    }
}

fn verifier(settings: &TlsSettings, authorities: &Authorities, names: &HostNames) -> Result<Verifier, ClientError> {
    let trust = authorities.trust(settings)?;
    let names: Vec<ServerName<'static>> = names.to_check().to_vec();
    Ok(Verifier::new(trust, names, settings.require_san))
}

/// The client's certificate with its issuers, and its key.
type Own = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn own_certificate(settings: &TlsSettings, authorities: &Authorities) -> Result<Option<Own>, ClientError> {
    let (certificate, key) = match (&settings.certificate_file, &settings.key_file) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            return Err(ClientError::setting(
                "tls_key",
                "tls_cert needs the key of the certificate",
            ));
        }
        (None, Some(_)) => {
            return Err(ClientError::setting(
                "tls_cert",
                "tls_key needs the certificate of the key",
            ));
        }
    };
    let wrong = |error: ironbark_tls::FileError| ClientError::setting("tls_cert", error.to_string());
    let mut chain = ironbark_tls::certificates(certificate).map_err(wrong)?;
    if chain.is_empty() {
        return Err(wrong(ironbark_tls::FileError::new(certificate, "no certificate")));
    }
    ironbark_tls::complete(&mut chain, &authorities.certificates);
    let key = ironbark_tls::private_key(key).map_err(|error| ClientError::setting("tls_key", error.to_string()))?;
    Ok(Some((chain, key)))
}

/// Servers whose sessions are kept.
const KEPT_SESSIONS: usize = 64;
