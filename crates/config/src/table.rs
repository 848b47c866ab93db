//! The one table of settings: all rows joined, with look-ups.

use crate::{
    DatabaseKind,
    overlay::OverlayKind,
    rows,
    setting::{Fate, Handler, Level, Setting},
};

/// Every row, in the order of the reference page.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    let groups = rows::global::ROWS
        .iter()
        .chain(rows::database::ROWS)
        .chain(rows::overlay::ROWS);
    groups.copied().flatten()
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// Before any `database` or `backend`, or in the frontend.
    Global,
    /// After `backend`.
    Backend(DatabaseKind),
    /// After `database`, with the overlays of that database, the last one first.
    Database(DatabaseKind, &'a [OverlayKind]),
}

/// The row that a keyword means at a place: general ones first, then the database's own, then those of overlays from
/// the last declared one back.
pub(crate) fn find(keyword: &str, place: Place<'_>, global_overlays: &[OverlayKind]) -> Option<&'static Setting> {
    let named = |level: Level| settings().find(move |row| row.level == level && row.has_keyword(keyword));
    let general = || {
        settings().find(|row| {
            matches!(
                row.level,
                Level::Global | Level::BeforeDatabases | Level::Inherited | Level::Database
            ) && row.has_keyword(keyword)
        })
    };
    let own = || match place {
        Place::Global => None,
        Place::Backend(kind) => named(Level::Backend(kind)),
        Place::Database(kind, overlays) => settings()
            .find(|row| {
                matches!(row.level, Level::DatabaseOf(kinds) if kinds.contains(&kind)) && row.has_keyword(keyword)
            })
            .or_else(|| overlays.iter().find_map(|&overlay| named(Level::Overlay(overlay)))),
    };
    let frontend = || {
        global_overlays
            .iter()
            .find_map(|&overlay| named(Level::Overlay(overlay)))
    };
    general().or_else(own).or_else(frontend)
}

/// Every row that has a keyword, wherever it may stand.
pub fn with_keyword(keyword: &str) -> impl Iterator<Item = &'static Setting> {
    settings().filter(move |row| row.has_keyword(keyword))
}

/// The row of an attribute of cn=config.
pub(crate) fn with_attribute(name: &str) -> Option<&'static Setting> {
    settings().find(|row| row.attributes.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Whether the arguments of a keyword are no quoted words: schema definitions.
pub(crate) fn is_raw(keyword: &str) -> bool {
    with_keyword(keyword).any(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(_))))
}

/// The keyword most like an unknown one, if any is like it at all.
pub(crate) fn suggestion(keyword: &str) -> Option<&'static str> {
    let keyword = keyword.to_ascii_lowercase();
    let candidates = settings().flat_map(|row| row.keywords.iter().copied().filter(|keyword| !keyword.ends_with('*')));
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

#[cfg(test)]
mod tests;
