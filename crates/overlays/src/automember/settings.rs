//! The settings of overlay automember: one definition.

use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_model::{Dn, PosixRegex};

/// Which entries become members of which groups.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AutomemberConfig {
    pub(super) scope: Option<Dn>,
    /// The text of a filter that parses.
    pub(super) filter: Option<String>,
    /// The groups of entries that no inclusive rule puts elsewhere.
    pub(super) default_groups: Vec<Dn>,
    /// The attribute of the group, as it is printed.
    pub(super) member: String,
    /// The attribute of the entry that gives the value; `None`: its name.
    pub(super) value: Option<String>,
    pub(super) inclusive: Vec<RuleSetting>,
    pub(super) exclusive: Vec<RuleSetting>,
}

/// A group, and the values that decide about it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RuleSetting {
    pub(super) group: Dn,
    /// The attribute, as it is printed.
    pub(super) attribute: String,
    pub(super) regex: PosixRegex,
}

impl Default for AutomemberConfig {
    fn default() -> Self {
        Self {
            scope: None,
            filter: None,
            default_groups: Vec::new(),
            member: "member".to_owned(),
            value: None,
            inclusive: Vec::new(),
            exclusive: Vec::new(),
        }
    }
}

impl OverlaySettings for AutomemberConfig {
    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if self.scope.is_none() || self.filter.is_none() {
            return Err("overlay automember needs automember-scope and automember-filter".into());
        }
        let rules = self.inclusive.iter().chain(&self.exclusive).map(|rule| &rule.group);
        for place in self.scope.iter().chain(&self.default_groups).chain(rules) {
            if !database.suffixes.iter().any(|suffix| place.is_within(suffix)) {
                return Err(format!("overlay automember: \"{}\" is not in the database", place.pretty()).into());
            }
        }
        Ok(())
    }
}
