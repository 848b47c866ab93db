//! What a start would do, without doing it: slaptest's question.

use ironbark_config::{DatabaseConfig, GlobalConfig, LoadedConfiguration, SettingError, database::EntryPlace};
use ironbark_directory::{Appraisal, OpenError};

use super::source::{Loaded, SourceError};
use crate::{
    root_dse,
    serve::{check_place, completeness},
    tls::Tls,
};

/// Why a server would not start; a line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The configuration has no place.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// TLS, or the attributes of the root DSE.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// An overlay, or a database whose entries are elsewhere.
    #[error(transparent)]
    Part(#[from] OpenError),
}

/// Makes everything that a server with this configuration makes at its start and that can fail: TLS from its files, the
/// attributes of the root DSE, overlays, databases whose entries are elsewhere. Nothing is written, no stored database
/// is opened, and nobody is listened to. Returns what a start would warn of.
///
/// # Errors
/// Why the server would not start; a line for the operator.
pub fn rehearse(loaded: &Loaded) -> Result<Option<String>, RehearsalError> {
    check_place(loaded)?;
    let configuration = &loaded.configuration;
    let global = &configuration.global;
    // Dropped, it changes nothing.
    let tls = Tls::default();
    let prepared = tls.prepare(&global.tls, completeness(loaded));
    let warning = prepared?.warning().map(str::to_owned);
    root_dse::read(&global.root_dse_files)?;
    parts(configuration)?;
    Ok(warning)
}

/// The folder that a start would miss: of `pidfile`, `argsfile` or `logfile`. What starts the server may make it first,
/// as systemd and scripts of init do below /run.
pub fn missing_folder(global: &GlobalConfig) -> Option<String> {
    let files = [
        ("pid file", &global.pid_file),
        ("args file", &global.args_file),
        ("log file", &global.log_file),
    ];
    files.into_iter().find_map(|(what, file)| {
        let file = file.as_deref()?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty())?;
        (!folder.is_dir()).then(|| format!("{what} {}: its folder does not exist", file.display()))
    })
}

/// Overlays and databases without files.
fn parts(configuration: &LoadedConfiguration) -> Result<(), OpenError> {
    let schema = &configuration.schema;
    let served = |settings: &&DatabaseConfig| !settings.disabled;
    for settings in configuration.databases.iter().filter(served) {
        if settings.kind.entries == EntryPlace::Elsewhere {
            ironbark_backends::make(settings, schema)
                .map_err(|error| ironbark_config::ConfigError::of_setting(&settings.location, "database", error))?;
        }
    }
    let all = configuration.databases.iter().filter(served);
    for overlay in all
        .chain([&configuration.frontend])
        .flat_map(|settings| &settings.overlays)
    {
        ironbark_overlays::make(overlay, schema)
            .map_err(|error: SettingError| ironbark_config::ConfigError::of_overlay(&overlay.location, error))?;
    }
    // Access rules may name controls that only the server knows.
    Appraisal::new(configuration).map(drop)
}
