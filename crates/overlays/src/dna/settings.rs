//! The settings of overlay dna: one range of numbers.

use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_model::Dn;

/// One range, and the entries that get numbers of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DnaConfig {
    /// Attribute descriptions, as they are printed.
    pub(super) types: Vec<String>,
    /// The value that asks for a number.
    pub(super) magic: String,
    /// The text of a filter that parses.
    pub(super) filter: Option<String>,
    /// `None`: all entries of the database.
    pub(super) scope: Option<Dn>,
    pub(super) excluded: Vec<Dn>,
    /// The first number.
    pub(super) first: Option<u64>,
    pub(super) last: u64,
    pub(super) interval: u64,
    /// A warning is due when fewer numbers are left.
    pub(super) threshold: u64,
}

impl Default for DnaConfig {
    fn default() -> Self {
        Self {
            types: Vec::new(),
            magic: "-1".to_owned(),
            filter: None,
            scope: None,
            excluded: Vec::new(),
            first: None,
            last: MOST,
            interval: 1,
            threshold: 100,
        }
    }
}

/// The greatest number: that of `uid_t`, but for the two that mean "none".
pub(super) const MOST: u64 = 4_294_967_293;

impl OverlaySettings for DnaConfig {
    fn looked_up(&self) -> Vec<String> {
        self.types.clone()
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        for (is_missing, name) in [
            (self.types.is_empty(), "dna-type"),
            (self.filter.is_none(), "dna-filter"),
            (self.first.is_none(), "dna-next-value"),
        ] {
            if is_missing {
                return Err(format!("overlay dna needs {name}").into());
            }
        }
        let first = self.first.unwrap_or_default();
        if first > self.last {
            return Err(format!("overlay dna: the range from {first} to {} has no number", self.last).into());
        }
        for place in self.scope.iter().chain(&self.excluded) {
            if !database.suffixes.iter().any(|suffix| place.is_within(suffix)) {
                let place = place.pretty();
                return Err(format!("overlay dna: \"{place}\" is not in the database").into());
            }
        }
        if database.suffixes.is_empty() {
            return Err("overlay dna belongs to a database with a suffix".into());
        }
        Ok(())
    }
}
