//! TLS for ldaps:// listeners and StartTLS. It is made from the `TLS*` settings, and replaced while connections live
//! on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use ironbark_config::{SettingError, TlsConfig};
use ironbark_directory::TlsChannel;
use ironbark_model::syntax::Certificate;
use ironbark_tls::{
    Negotiated, PairError, certified, endpoint, select_ciphers, select_curves, select_versions, weaknesses,
};
use rustls::{
    ServerConfig, ServerConnection,
    crypto::aws_lc_rs::{Ticketer, default_provider},
};
use tokio_rustls::TlsAcceptor;

use self::{
    clients::Clients,
    fault::TlsFault,
    files::{Material, Seen},
    handshake::HandshakeThreads,
};

pub(crate) use self::handshake::Handshake;

mod clients;
mod fault;
mod files;
mod handshake;

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
    /// Why the context is not that of the settings.
    warning: Option<String>,
}

/// Whether a certificate without its key is refused. slapd's clients set the two one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completeness {
    /// A file was written as a whole.
    Required,
    /// A client changes cn=config. TLS stays as it was until certificate and key are a pair. A change of both is
    /// refused if they are none.
    InSteps,
    /// The server starts with what such clients have left. There is no TLS until certificate and key are a pair.
    AsLeft,
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
    pub(crate) fn prepare(
        &self,
        settings: &TlsConfig,
        completeness: Completeness,
    ) -> Result<PreparedTls<'_>, SettingError> {
        let seen = Seen::now(settings);
        let (is_in_force, is_new_pair) = {
            let source = self.source();
            let is_in_force = source.settings == *settings && source.seen.as_ref() == Some(&seen);
            (is_in_force, settings.has_other_pair_than(&source.settings))
        };
        let unchanged = PreparedTls {
            tls: self,
            next: None,
            warning: None,
        };
        if is_in_force {
            return Ok(unchanged);
        }
        let source = Source {
            settings: settings.clone(),
            seen: Some(seen),
        };
        let made = settings
            .is_configured()
            .then(|| TlsContext::new(settings, &self.threads))
            .transpose();
        let is_refused = match completeness {
            Completeness::Required => true,
            Completeness::InSteps => is_new_pair,
            Completeness::AsLeft => false,
        };
        match made {
            Ok(context) => {
                let lack = context.as_ref().and_then(|context| context.clients.lack());
                if let Some(lack) = lack.filter(|_| completeness == Completeness::Required) {
                    return Err(SettingError::from(lack).about("TLS"));
                }
                let refuses = |lack| format!("{lack}; until then each certificate of a client is refused");
                Ok(PreparedTls {
                    next: Some((source, context.map(Arc::new))),
                    warning: lack.map(refuses),
                    ..unchanged
                })
            }
            Err(TlsFault::NoPair(reason)) if !is_refused => Ok(PreparedTls {
                warning: Some(format!(
                    "{reason}; until certificate and key are a pair, {}",
                    match self.context() {
                        Some(_) => "the former ones stay in use",
                        None => "there is no TLS",
                    }
                )),
                next: Some((source, self.context())),
                ..unchanged
            }),
            Err(TlsFault::NoPair(reason)) => Err(SettingError::from(reason).about("TLS")),
            Err(TlsFault::Wrong(error)) => Err(error.about("TLS")),
        }
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

    /// Why the context is not that of the settings.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Puts it into force.
    pub(crate) fn commit(self) {
        if let Some((source, context)) = self.next {
            let mut current = self.tls.source();
            if let Some(warning) = self.warning {
                tracing::warn!(target: "any", "TLS: {warning}");
            }
            self.tls.current.store(context);
            *current = source;
        }
    }
}

fn wrong(reason: impl Into<SettingError>) -> TlsFault {
    TlsFault::Wrong(reason.into())
}

impl TlsContext {
    fn new(settings: &TlsConfig, threads: &Arc<HandshakeThreads>) -> Result<Self, TlsFault> {
        let material = files::read(settings)?;
        let mut provider = default_provider();
        let ciphers = select_ciphers(settings.cipher_suite.as_deref());
        provider.cipher_suites = ciphers.map_err(|error| wrong(format!("TLSCipherSuite: {error}")))?;
        if let Some(curves) = &settings.curves {
            provider.kx_groups = select_curves(curves).map_err(|error| wrong(format!("TLSECName: {error}")))?;
        }
        let oldest = (settings.protocol_min.major, settings.protocol_min.minor);
        let versions = select_versions(oldest, &provider.cipher_suites)
            .map_err(|_| wrong("TLSProtocolMin and TLSCipherSuite together leave nothing"))?;
        let provider = Arc::new(provider);
        let clients = Clients::new(settings, &material)?;
        let Material { chain, key, .. } = material;
        let weaknesses = chain.first().map(|own| weaknesses(own)).unwrap_or_default();
        if let Some(weakness) = weaknesses.first().filter(|_| settings.is_strict) {
            return Err(wrong(format!(
                "tls-strict: the server's certificate is weak: {weakness}"
            )));
        }
        for weakness in weaknesses {
            tracing::warn!(target: "any", "TLS: the server's certificate works, but {weakness}");
        }
        let endpoint = chain.first().and_then(|own| endpoint(own));
        let own = certified(chain, key, &provider).map_err(|error| {
            let reason = format!("certificate and private key: {error}");
            match error {
                PairError::Mismatch => TlsFault::NoPair(reason),
                PairError::Certificate | PairError::Key => wrong(reason),
            }
        })?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| wrong(error.to_string()))?
            .with_client_cert_verifier(clients.verifier())
            .with_cert_resolver(own);
        config.ticketer = Ticketer::new().map_err(|error| wrong(error.to_string()))?;
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
        let Negotiated {
            protocol,
            cipher,
            strength,
            exporter,
        } = Negotiated::of(connection);
        let chain = connection.peer_certificates().unwrap_or_default();
        let own = chain
            .first()
            .filter(|_| self.clients.accept(chain, self.config.time_provider.current_time()));
        let subject = own.and_then(|own| Certificate::parse(own).ok().map(|own| own.subject.to_vec()));
        Established {
            protocol,
            cipher,
            strength,
            channel: TlsChannel {
                subject,
                endpoint: self.endpoint.clone(),
                exporter,
            },
        }
    }
}
