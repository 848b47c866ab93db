//! The settings of the server that it keeps elsewhere than in the configuration: the log, TLS, the metrics listener.

use std::sync::{Arc, OnceLock};

use ironbark_config::GlobalConfig;

use crate::{
    log::{Log, PreparedLog},
    metrics::{Metrics, PreparedMetrics},
    tls::{PreparedTls, Tls},
};

/// What serves these settings. A clone is of the same server.
#[derive(Clone)]
pub(crate) struct ServerSettings {
    pub(crate) log: Log,
    pub(crate) tls: Arc<Tls>,
    /// Made after the directory, which it shows.
    pub(crate) metrics: Arc<OnceLock<Metrics>>,
}

/// Other settings, with everything made that can fail. Dropped, it changes nothing.
#[must_use = "dropped, it changes nothing"]
pub(crate) struct PreparedSettings<'s> {
    tls: PreparedTls<'s>,
    log: PreparedLog<'s>,
    metrics: Option<PreparedMetrics<'s>>,
}

impl ServerSettings {
    /// Before any configuration.
    pub(crate) fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            tls: Arc::default(),
            metrics: Arc::default(),
        }
    }

    /// Reads certificates, opens the log file, takes the address of the metrics listener.
    ///
    /// # Errors
    /// What cannot be had, for the administrator.
    pub(crate) fn prepare(&self, global: &GlobalConfig) -> Result<PreparedSettings<'_>, String> {
        let metrics = self
            .metrics
            .get()
            .map(|metrics| metrics.prepare(global.metrics_listener));
        Ok(PreparedSettings {
            tls: self.tls.prepare(&global.tls)?,
            log: self
                .log
                .prepare(global)
                .map_err(|error| format!("cannot open the log file: {error}"))?,
            metrics: metrics
                .transpose()
                .map_err(|error| format!("metrics-listener: {error}"))?,
        })
    }

    /// Takes up what other programs have replaced: the log file, certificates, keys, revocation lists. What cannot be
    /// used leaves the one before in place. No connection notices.
    pub(crate) fn reload(&self) {
        match self.log.reopen() {
            Ok(()) => tracing::info!(target: "any", "daemon: reload requested"),
            Err(error) => {
                tracing::error!(target: "any", "cannot open the log file: {error}; the one that is open stays in use");
            }
        }
        self.tls.reload();
    }
}

impl PreparedSettings<'_> {
    /// Puts the settings into force around `swap`, which does so with the configuration. That one says whether StartTLS
    /// is offered: a context is there before it is, and goes after.
    pub(crate) fn commit(self, swap: impl FnOnce()) {
        let Self { tls, log, metrics } = self;
        log.commit();
        if tls.has_context() {
            tls.commit();
            swap();
        } else {
            swap();
            tls.commit();
        }
        if let Some(metrics) = metrics {
            metrics.commit();
        }
    }
}
