//! TLS for ldaps:// listeners and StartTLS. It is made from the `TLS*` settings, and replaced while connections live
//! on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use ironbark_config::{ProtocolVersion, SettingError, TlsConfig};
use ironbark_directory::TlsChannel;
use ironbark_model::syntax::Certificate;
use rustls::{
    ServerConfig, ServerConnection, SupportedProtocolVersion,
    crypto::{
        CryptoProvider, SupportedKxGroup,
        aws_lc_rs::{Ticketer, default_provider, kx_group},
    },
    version::{TLS12, TLS13},
};
use tokio_rustls::TlsAcceptor;

use self::{
    clients::Clients,
    files::{Material, Seen},
    handshake::HandshakeThreads,
};

pub(crate) use self::handshake::Handshake;

mod binding;
mod ciphers;
mod clients;
mod files;
mod handshake;
mod secp521r1;

/// The server's TLS.
#[derive(Default)]
pub(crate) struct Tls {
    current: ArcSwapOption<TlsContext>,
    threads: Arc<HandshakeThreads>,
    source: Mutex<Source>,
}

/// The settings and files that the current context was made from.
#[derive(Default)]
struct Source {
    settings: TlsConfig,
    seen: Option<Seen>,
}

/// The TLS settings of a configuration, ready for new connections. If it is dropped, nothing changes.
#[must_use = "dropped, it changes nothing"]
pub(crate) struct PreparedTls<'t> {
    tls: &'t Tls,
    /// `None`: settings and files are the same as those in force.
    next: Option<(Source, Option<Arc<TlsContext>>)>,
}

/// The TLS state that new connections use.
pub(crate) struct TlsContext {
    config: Arc<ServerConfig>,
    clients: Clients,
    /// Channel binding tls-server-end-point.
    endpoint: Option<Vec<u8>>,
    threads: Arc<HandshakeThreads>,
}

/// The results of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Established {
    /// `TLSv1.3`.
    pub(crate) protocol: &'static str,
    /// OpenSSL's name of the cipher suite.
    pub(crate) cipher: &'static str,
    /// Length of its keys in bits.
    pub(crate) strength: u32,
    /// The client's certificate, and the channel bindings for SASL mechanisms.
    pub(crate) channel: TlsChannel,
}

impl Tls {
    /// Makes the context for new connections under other settings. Nothing is made if the settings, and the files that
    /// they name, have not changed.
    ///
    /// # Errors
    /// The setting or file, and what is wrong with it.
    pub(crate) fn prepare(&self, settings: &TlsConfig) -> Result<PreparedTls<'_>, SettingError> {
        let seen = Seen::now(settings);
        let is_in_force = {
            let source = self.source();
            source.settings == *settings && source.seen.as_ref() == Some(&seen)
        };
        if is_in_force {
            return Ok(PreparedTls { tls: self, next: None });
        }
        let context = settings
            .is_configured()
            .then(|| TlsContext::new(settings, &self.threads).map_err(|error| error.about("TLS")));
        let source = Source {
            settings: settings.clone(),
            seen: Some(seen),
        };
        let context = context.transpose()?.map(Arc::new);
        Ok(PreparedTls {
            tls: self,
            next: Some((source, context)),
        })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again if they have changed.
    pub(crate) fn renew(&self) {
        self.read_again(|seen, now| seen != Some(now));
    }

    /// Reads the files again, whether or not they seem to have changed.
    pub(crate) fn reload(&self) {
        self.read_again(|_, _| true);
    }

    /// While `source` is locked, no other settings can be put into force.
    fn read_again(&self, is_due: impl FnOnce(Option<&Seen>, &Seen) -> bool) {
        let mut source = self.source();
        let Source { settings, seen } = &mut *source;
        if !settings.is_configured() {
            return;
        }
        let now = Seen::now(settings);
        if !is_due(seen.as_ref(), &now) {
            return;
        }
        match TlsContext::new(settings, &self.threads) {
            Ok(context) => {
                self.current.store(Some(Arc::new(context)));
                tracing::info!(target: "any", "TLS: certificates and keys have been read again");
            }
            Err(error) => {
                tracing::error!(target: "any", "TLS: {error}; what was read before stays in use");
            }
        }
        *seen = Some(now);
    }

    /// The context for a new connection; `None` if TLS is not configured.
    pub(crate) fn context(&self) -> Option<Arc<TlsContext>> {
        self.current.load_full()
    }
}

impl PreparedTls<'_> {
    /// Whether new connections can use TLS from the commit on.
    pub(crate) fn has_context(&self) -> bool {
        match &self.next {
            Some((_, context)) => context.is_some(),
            None => self.tls.current.load().is_some(),
        }
    }

    /// Puts it into force.
    pub(crate) fn commit(self) {
        if let Some((source, context)) = self.next {
            let mut current = self.tls.source();
            self.tls.current.store(context);
            *current = source;
        }
    }
}

impl TlsContext {
    fn new(settings: &TlsConfig, threads: &Arc<HandshakeThreads>) -> Result<Self, SettingError> {
        let material = files::read(settings)?;
        let mut provider = default_provider();
        provider.cipher_suites = ciphers::select(settings.cipher_suite.as_deref())?;
        if let Some(curves) = &settings.curves {
            provider.kx_groups = groups(curves)?;
        }
        let versions = versions(settings.protocol_min, &provider)?;
        let provider = Arc::new(provider);
        let clients = Clients::new(settings, &material, &provider)?;
        let Material { chain, key, .. } = material;
        let endpoint = chain.first().and_then(|own| binding::endpoint(own));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| error.to_string())?
            .with_client_cert_verifier(clients.verifier())
            .with_single_cert(chain, key)
            .map_err(|error| format!("certificate and private key: {error}"))?;
        config.ticketer = Ticketer::new().map_err(|error| error.to_string())?;
        Ok(Self {
            config: Arc::new(config),
            clients,
            endpoint,
            threads: Arc::clone(threads),
        })
    }

    /// The acceptor for handshakes as the server.
    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }

    /// The results of a finished handshake.
    fn established(&self, connection: &ServerConnection) -> Established {
        let suite = connection.negotiated_cipher_suite();
        let (cipher, strength) = suite.map_or(("unknown", 1), |suite| ciphers::describe(suite.suite()));
        let chain = connection.peer_certificates().unwrap_or_default();
        let own = chain
            .first()
            .filter(|_| self.clients.accept(chain, self.config.time_provider.current_time()));
        let subject = own.and_then(|own| Certificate::parse(own).ok().map(|own| own.subject.to_vec()));
        let is_tls13 = connection.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        Established {
            protocol: if is_tls13 { "TLSv1.3" } else { "TLSv1.2" },
            cipher,
            strength,
            channel: TlsChannel {
                subject,
                endpoint: self.endpoint.clone(),
                exporter: is_tls13.then(|| binding::exporter(connection)).flatten(),
            },
        }
    }
}

/// The protocol versions that `TLSProtocolMin` and the ciphers allow.
fn versions(
    oldest: ProtocolVersion,
    provider: &CryptoProvider,
) -> Result<Vec<&'static SupportedProtocolVersion>, SettingError> {
    let is_tls13_only = oldest > ProtocolVersion { major: 3, minor: 3 };
    let has = |version: rustls::ProtocolVersion| {
        let of_version = |suite: &rustls::SupportedCipherSuite| suite.version().version == version;
        provider.cipher_suites.iter().any(of_version)
    };
    let mut versions = Vec::new();
    if has(TLS13.version) {
        versions.push(&TLS13);
    }
    if !is_tls13_only && has(TLS12.version) {
        versions.push(&TLS12);
    }
    if versions.is_empty() {
        return Err("TLSProtocolMin and TLSCipherSuite together leave nothing".into());
    }
    Ok(versions)
}

/// `TLSECName`: curves by OpenSSL's names.
fn groups(names: &str) -> Result<Vec<&'static dyn SupportedKxGroup>, SettingError> {
    let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
    for name in names.split(':').filter(|name| !name.is_empty()) {
        groups.push(match name.to_ascii_lowercase().as_str() {
            "x25519" => kx_group::X25519,
            "prime256v1" | "p-256" | "secp256r1" => kx_group::SECP256R1,
            "secp384r1" | "p-384" => kx_group::SECP384R1,
            "x25519mlkem768" => kx_group::X25519MLKEM768,
            "secp521r1" | "p-521" => secp521r1::SECP521R1,
            // Known to OpenSSL, and one of several.
            "x448" if names.contains(':') => continue,
            _ => {
                return Err(format!(
                    "TLSECName: no curve \"{name}\"; there are X25519, prime256v1, secp384r1, secp521r1, X25519MLKEM768"
                )
                .into());
            }
        });
    }
    if groups.is_empty() {
        return Err("TLSECName names no curve".into());
    }
    Ok(groups)
}
