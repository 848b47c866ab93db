//! What a configuration of the old server says, in the terms of this one.

use std::path::Path;

use super::survey::{base_name, each_record};

/// An entry of the old server's configuration.
#[derive(Debug)]
pub(super) struct ConfigEntry {
    /// In small letters.
    pub(super) dn: String,
    attributes: Vec<(String, String)>,
}

/// A database.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Base {
    pub(super) suffix: String,
    pub(super) read_only: bool,
    /// Attribute types and kinds: `pres`, `eq`, `approx`, `sub`.
    pub(super) indexes: Vec<(String, Vec<&'static str>)>,
}

/// An overlay that is taken over.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    /// Its lines.
    pub(super) text: String,
    /// The entry that it is for: only the database that holds it has the overlay. `None`: all databases have it.
    pub(super) base: Option<String>,
}

/// The settings that are taken over.
#[derive(Default, Debug)]
pub(super) struct Settings {
    pub(super) bases: Vec<Base>,
    /// Lines for the server.
    pub(super) global: Vec<String>,
    /// Lines for each database.
    pub(super) database: Vec<String>,
    /// Overlays with their settings.
    pub(super) overlays: Vec<Overlay>,
    /// Attributes of the default password policy.
    pub(super) policy: Vec<(&'static str, String)>,
    /// Attributes of groups whose members get memberOf.
    pub(super) member_attributes: Vec<String>,
    /// Whether passwords may be sent without protection.
    pub(super) takes_plain_passwords: bool,
    /// What was found, and what becomes of it, for the report.
    pub(super) notes: Vec<(String, String)>,
}

impl Settings {
    pub(super) fn overlay(&mut self, text: impl Into<String>, base: Option<&str>) {
        self.overlays.push(Overlay {
            text: text.into(),
            base: base.map(str::to_owned),
        });
    }

    pub(super) fn note(&mut self, what: impl Into<String>, becomes: impl Into<String>) {
        self.notes.push((what.into(), becomes.into()));
    }
}

impl ConfigEntry {
    /// The first value.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter();
        let found = found.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// All values.
    pub(super) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e str> {
        let found = self
            .attributes
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the value is `on` or `true`.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.one(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("on") || value.eq_ignore_ascii_case("true"))
    }

    pub(super) fn has_class(&self, class: &str) -> bool {
        self.all("objectClass").any(|value| value.eq_ignore_ascii_case(class))
    }

    /// A number, if it is one.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.one(name)?.split(' ').next()?.parse().ok()
    }
}

/// Reads a configuration.
pub(super) fn read(path: &Path) -> Result<Vec<ConfigEntry>, String> {
    let mut entries = Vec::new();
    each_record(path, &mut |dn, attributes, _| {
        let lossy = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let attributes = attributes.iter().map(|(name, value)| (base_name(name), lossy(value)));
        entries.push(ConfigEntry {
            dn: lossy(dn).to_lowercase(),
            attributes: attributes.collect(),
        });
        Ok(())
    })?;
    Ok(entries)
}

/// A limit as slapd.conf has it: -1, and 0 where it has no meaning, are `unlimited`.
pub(super) fn limit(number: i64) -> String {
    if number <= 0 {
        "unlimited".to_owned()
    } else {
        number.to_string()
    }
}

/// A text as slapd.conf needs it.
pub(super) fn quoted(text: &str) -> String {
    let shown: String = text.chars().filter(|one| !one.is_control()).collect();
    format!("\"{}\"", shown.replace('\\', "\\\\").replace('"', "\\\""))
}
