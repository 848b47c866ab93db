//! Settings of slapo-syncprov(5).

use ironbark_config::{DatabaseConfig, SettingError, kinds::CONFIG, overlay::OverlaySettings};

/// How a database provides its changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SyncprovConfig {
    /// `syncprov-nopresent`.
    pub no_present: bool,
    /// `syncprov-reloadhint`.
    pub reload_hint: bool,
}

impl OverlaySettings for SyncprovConfig {
    fn keeps_changes(&self) -> bool {
        true
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.is_stored() || database.kind == &CONFIG {
            return Ok(());
        }
        Err(SettingError::Unavailable(format!(
            "overlay syncprov needs a database with a log of changes; {} has none",
            database.kind.name
        )))
    }
}
