//! Settings of slapo-ppolicy(5), and of our own checks of password quality.

mod rule;

use std::path::PathBuf;

use ironbark_config::{DatabaseConfig, SettingError, database::EntryPlace, overlay::OverlaySettings};
use ironbark_model::Dn;

pub use rule::{PolicyGroup, PolicyRule};

/// How passwords are controlled.
#[derive(Clone, PartialEq, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one setting of slapd.conf")]
pub struct PpolicyConfig {
    /// `ppolicy_default`: the policy of entries that name none and match no rule.
    pub default: Option<Dn>,
    /// `ppolicy_rules`, in order.
    pub rules: Vec<PolicyRule>,
    /// `ppolicy_forward_updates`; it is kept to be shown.
    pub forward_updates: bool,
    /// `ppolicy_hash_cleartext`.
    pub hash_cleartext: bool,
    /// `ppolicy_use_lockout`: clients are told that an account is locked.
    pub use_lockout: bool,
    /// `ppolicy_disable_write`.
    pub disable_write: bool,
    /// `ppolicy_send_netscape_controls`.
    pub send_netscape_controls: bool,
    /// `ppolicy_check_module`: the path of ppm, as it was written.
    pub check_module: Option<String>,
    /// `ppolicy_ppm_file`: its rules for policies that have none.
    pub ppm_file: Option<PathBuf>,
    /// `ppolicy_quality_classes`: kinds of characters that a password must have; 0: any.
    pub quality_classes: u32,
    /// `ppolicy_quality_characters`: characters, not octets; 0: any.
    pub quality_characters: u32,
    /// `ppolicy_quality_dictionary`.
    pub quality_dictionary: Option<PathBuf>,
    /// `ppolicy_quality_forbid`: attributes whose values a password must not contain.
    pub quality_forbid: Vec<String>,
}

impl OverlaySettings for PpolicyConfig {
    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.entries == EntryPlace::Frontend {
            return Err("slapo-ppolicy cannot be global".into());
        }
        Ok(())
    }
}
