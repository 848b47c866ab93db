//! The errors for statements that are not known, or not at their place.

use crate::{
    ConfigError, SettingError,
    reader::ConfigLine,
    registry::{Place, Registry},
    setting::SettingLevel,
};

/// The error for a keyword that no setting has at this place, as in slapd, with a guess at the intended one.
pub(super) fn unknown(registry: &Registry, line: &ConfigLine, place: Place<'_>) -> ConfigError {
    let keyword = &line.keyword;
    if let Some(row) = registry.with_keyword(keyword).next() {
        return ConfigError::of_setting(&line.location, keyword, SettingError::Misplaced(right_place(row.level)));
    }
    let place = match place {
        Place::Global => "outside backend info and database definitions",
        Place::Backend(_) => "inside backend info definition",
        Place::Database(..) => "inside backend database definition",
    };
    let hint = registry
        .suggestion(keyword)
        .map(|guess| format!("; did you mean <{guess}>?"))
        .unwrap_or_default();
    ConfigError::UnknownSetting {
        location: line.location.clone(),
        keyword: keyword.clone(),
        reason: format!("unknown directive <{keyword}> {place}{hint}"),
    }
}

/// Where a setting is allowed, for the error of one that stands elsewhere.
fn right_place(level: SettingLevel) -> String {
    match level {
        SettingLevel::DatabaseOf(kinds) => {
            format!("only allowed within {} database declaration", kinds.join(" or "))
        }
        SettingLevel::Backend(kind) => format!("only allowed within {kind} backend declaration"),
        SettingLevel::Overlay(name) => format!("only allowed after overlay {name}"),
        SettingLevel::Global | SettingLevel::BeforeDatabases | SettingLevel::Inherited | SettingLevel::Database => {
            "is not allowed here".to_owned()
        }
    }
}

pub(super) fn misplaced(reason: &str) -> SettingError {
    SettingError::Misplaced(reason.to_owned())
}
