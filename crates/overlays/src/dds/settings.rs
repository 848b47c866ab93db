//! Settings of slapo-dds(5).

use ironbark_config::{DatabaseConfig, SettingError, database::EntryPlace, overlay::OverlaySettings};

/// A day: the smallest allowed value of `dds-max-ttl`, and the default life of an entry (RFC 2589).
pub(super) const DAY_S: u64 = 86_400;
/// A year and a day.
pub(super) const MAX_TTL_S: u64 = 31_557_600;

/// How long dynamic entries live.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DdsConfig {
    /// `dds-state`: whether the overlay does anything.
    pub(super) is_on: bool,
    /// `dds-max-ttl`, seconds.
    pub(super) max_ttl_s: u64,
    /// `dds-min-ttl`, seconds; a shorter refresh is raised to it.
    pub(super) min_ttl_s: Option<u64>,
    /// `dds-default-ttl`, seconds; `None`: `max_ttl_s`.
    pub(super) default_ttl_s: Option<u64>,
    /// `dds-interval`: seconds between two searches for expired entries.
    pub(super) interval_s: Option<u64>,
    /// `dds-tolerance`: seconds that entries are kept after they have expired.
    pub(super) tolerance_s: Option<u64>,
    /// `dds-max-dynamicObjects`; 0: any number.
    pub(super) max_objects: u32,
}

impl Default for DdsConfig {
    fn default() -> Self {
        Self {
            is_on: true,
            max_ttl_s: DAY_S,
            min_ttl_s: None,
            default_ttl_s: None,
            interval_s: None,
            tolerance_s: None,
            max_objects: 0,
        }
    }
}

impl DdsConfig {
    /// How long a new entry lives.
    pub(super) fn default_ttl_s(&self) -> u64 {
        self.default_ttl_s.unwrap_or(self.max_ttl_s)
    }
}

impl OverlaySettings for DdsConfig {
    fn looked_up(&self) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.entries == EntryPlace::Frontend {
            return Err("DDS cannot be used as global overlay".into());
        }
        if self.is_on && self.default_ttl_s() > self.max_ttl_s {
            return Err("DDS default ttl is greater than max ttl".into());
        }
        let min = self.min_ttl_s.unwrap_or_default();
        if self.is_on && min > self.default_ttl_s() {
            return Err("DDS min_ttl is greater than default or max ttl".into());
        }
        Ok(())
    }
}
