//! The settings that the server keeps outside the configuration: the log, TLS, the metrics listener,
//! the consumers of other servers.

use std::sync::{Arc, OnceLock};

use ironbark_config::{GlobalConfig, SettingError};

use crate::{
    log::{Log, PreparedLog},
    metrics::{Metrics, PreparedMetrics},
    replication::Replication,
    tls::{Completeness, PreparedTls, Tls},
};

/// The parts that use these settings. A clone belongs to the same server.
#[derive(Clone)]
pub(crate) struct ServerSettings {
    pub(crate) log: Log,
    pub(crate) tls: Arc<Tls>,
    /// Made after the directory, because it shows the directory.
    pub(crate) metrics: Arc<OnceLock<Metrics>>,
    /// Made after the directory, too.
    pub(crate) replication: Arc<OnceLock<Arc<Replication>>>,
}

/// New settings, with everything prepared that can fail. If it is dropped, nothing changes.
#[must_use = "dropped, it changes nothing"]
pub(crate) struct PreparedSettings<'s> {
    tls: PreparedTls<'s>,
    log: PreparedLog<'s>,
    metrics: Option<PreparedMetrics<'s>>,
    replication: Option<&'s Replication>,
}

impl ServerSettings {
    /// The state before any configuration.
    pub(crate) fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            tls: Arc::default(),
            metrics: Arc::default(),
            replication: Arc::default(),
        }
    }

    /// Puts the settings of the first configuration into force.
    ///
    /// # Errors
    /// As of [`ServerSettings::prepare`].
    pub(crate) fn begin(&self, global: &mut GlobalConfig, tls: Completeness) -> Result<(), SettingError> {
        let prepared = self.prepare(global, tls)?;
        let lacks_tls = prepared.lack_tls(global);
        prepared.commit(|| {});
        global.lacks_tls = lacks_tls;
        Ok(())
    }

    /// Reads certificates, opens the log file, takes the address of the metrics listener.
    ///
    /// # Errors
    /// The reason for a failure, for the administrator.
    pub(crate) fn prepare(
        &self,
        global: &GlobalConfig,
        tls: Completeness,
    ) -> Result<PreparedSettings<'_>, SettingError> {
        let metrics = self
            .metrics
            .get()
            .map(|metrics| metrics.prepare(global.metrics_listener));
        Ok(PreparedSettings {
            tls: self.tls.prepare(&global.tls, tls)?,
            log: self
                .log
                .prepare(global)
                .map_err(|error| SettingError::Unavailable(format!("cannot open the log file: {error}")))?,
            metrics: metrics
                .transpose()
                .map_err(|error| SettingError::Unavailable(format!("metrics-listener: {error}")))?,
            replication: self.replication.get().map(|replication| &**replication),
        })
    }

    /// Reloads files that other programs have replaced: the log file, certificates, keys, revocation lists. If a new
    /// file cannot be used, the old one stays in use. Connections are not affected.
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
    /// Whether TLS is configured and cannot be offered.
    pub(crate) fn lack_tls(&self, global: &GlobalConfig) -> bool {
        global.tls.is_configured() && !self.tls.has_context()
    }

    /// Puts the settings into force together with `swap`, which puts the configuration into force. The configuration
    /// says whether StartTLS is offered, so a TLS context comes before the offer and goes after it.
    pub(crate) fn commit(self, swap: impl FnOnce()) {
        let Self {
            tls,
            log,
            metrics,
            replication,
        } = self;
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
        if let Some(replication) = replication {
            replication.configure();
        }
    }
}
