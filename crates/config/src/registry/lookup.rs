//! Look-ups in the registry: the row for a word at a place.

use super::Registry;
use crate::setting::{Setting, SettingLevel};

/// The place of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// Before any `database` or `backend`, or in the frontend.
    Global,
    /// After `backend`, with the name of the type.
    Backend(&'static str),
    /// After `database`, with the name of the type and the names of the overlays of that database, the last one first.
    Database(&'static str, &'a [&'static str]),
}

impl Registry {
    /// The row for a keyword at a place: general ones first, then the database's own, then those of overlays from the
    /// last declared one back.
    pub(crate) fn find(
        &self,
        keyword: &str,
        place: Place<'_>,
        global_overlays: &[&'static str],
    ) -> Option<&'static Setting> {
        let named = |level: SettingLevel| {
            self.settings()
                .find(move |row| row.level == level && row.has_keyword(keyword))
        };
        let general = || {
            self.settings().find(|row| {
                matches!(
                    row.level,
                    SettingLevel::Global
                        | SettingLevel::BeforeDatabases
                        | SettingLevel::Inherited
                        | SettingLevel::Database
                ) && row.has_keyword(keyword)
            })
        };
        let own = || match place {
            Place::Global => None,
            Place::Backend(kind) => named(SettingLevel::Backend(kind)),
            Place::Database(kind, overlays) => self
                .settings()
                .find(|row| {
                    matches!(row.level, SettingLevel::DatabaseOf(kinds) if kinds.contains(&kind))
                        && row.has_keyword(keyword)
                })
                .or_else(|| {
                    overlays
                        .iter()
                        .find_map(|&overlay| named(SettingLevel::Overlay(overlay)))
                }),
        };
        let frontend = || {
            global_overlays
                .iter()
                .find_map(|&overlay| named(SettingLevel::Overlay(overlay)))
        };
        general().or_else(own).or_else(frontend)
    }

    /// Every row with a keyword, for any place.
    pub fn with_keyword<'k>(&'k self, keyword: &'k str) -> impl Iterator<Item = &'static Setting> + use<'k> {
        self.settings().filter(move |row| row.has_keyword(keyword))
    }

    /// The row of an attribute of cn=config, by any of its names, with or without `;binary`.
    pub(crate) fn with_attribute(&self, name: &str) -> Option<&'static Setting> {
        self.settings().find(|row| row.has_attribute(name))
    }

    /// The same in the entry of an overlay, or of anything else. Where an overlay shares an attribute with a database,
    /// each has a row for it.
    pub(crate) fn with_attribute_of(&self, overlay: Option<&str>, name: &str) -> Option<&'static Setting> {
        let is_its = |level: SettingLevel| match (level, overlay) {
            (SettingLevel::Overlay(its), Some(wanted)) => its.eq_ignore_ascii_case(wanted),
            _ => false,
        };
        let its = self.settings().find(|row| is_its(row.level) && row.has_attribute(name));
        its.or_else(|| self.with_attribute(name))
    }

    /// The keyword most like an unknown one, if any is like it at all.
    pub(crate) fn suggestion(&self, keyword: &str) -> Option<&'static str> {
        let keyword = keyword.to_ascii_lowercase();
        let all = self.settings().flat_map(|row| row.keywords.iter().copied());
        let candidates = all.filter(|keyword| !keyword.ends_with('*'));
        let (distance, found) = candidates
            .map(|candidate| {
                (
                    strsim::osa_distance(&candidate.to_ascii_lowercase(), &keyword),
                    candidate,
                )
            })
            .min_by_key(|&(distance, _)| distance)?;
        (distance <= (found.len() / 3).max(1)).then_some(found)
    }
}
