//! Settings of slapo-autoca(5).

use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_model::Dn;

/// What certificates are made, and for which entries.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AutocaConfig {
    /// `userClass`.
    pub(super) user_class: String,
    /// `serverClass`; not set: ipHost, if the schema has it.
    pub(super) server_class: Option<String>,
    /// `userKeybits`, as written.
    pub(super) user_bits: u32,
    /// `serverKeybits`.
    pub(super) server_bits: u32,
    /// `caKeybits`.
    pub(super) ca_bits: u32,
    /// `userDays`.
    pub(super) user_days: u32,
    /// `serverDays`.
    pub(super) server_days: u32,
    /// `caDays`.
    pub(super) ca_days: u32,
    /// `localdn`: the entry of this server.
    pub(super) local: Option<Dn>,
}

impl Default for AutocaConfig {
    fn default() -> Self {
        Self {
            user_class: "person".to_owned(),
            server_class: None,
            user_bits: 2048,
            server_bits: 2048,
            ca_bits: 2048,
            user_days: 365,
            server_days: 1826,
            ca_days: 3652,
            local: None,
        }
    }
}

impl OverlaySettings for AutocaConfig {
    fn secrets(&self) -> &'static [&'static str] {
        &["cAPrivateKey", "userPrivateKey"]
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        match &self.local {
            Some(local) if !database.suffixes.iter().any(|suffix| local.is_within(suffix)) => {
                Err(format!("localdn \"{}\" is not below the suffix of the database", local.pretty()).into())
            }
            _ => Ok(()),
        }
    }
}
