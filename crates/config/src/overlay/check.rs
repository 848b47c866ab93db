//! Checks of the overlays of a database that need the whole database.

use ironbark_model::Schema;

use super::OverlayConfig;
use crate::{
    ConfigError, DatabaseConfig, ErrorSubject, IndexKinds, IndexSetting, Notice, NoticeKind, database::EntryPlace,
};

/// Checks of the overlays of a database that need the whole database: gives notices of the overlays, and of indexes
/// that they need.
///
/// # Errors
/// An overlay is not possible in this database.
pub(crate) fn check(database: &DatabaseConfig, schema: &Schema) -> Result<Vec<Notice>, ConfigError> {
    let mut notices = Vec::new();
    for overlay in &database.overlays {
        let mut texts = Vec::new();
        let checked = overlay.any_settings().check(database, &mut texts);
        checked.map_err(|reason| ConfigError::of_overlay(&overlay.location, reason))?;
        if overlay.is_disabled {
            continue;
        }
        if database.kind.is_external() {
            let (name, kind) = (overlay.name(), database.kind.name);
            let reason = format!("overlay {name} cannot act on a {kind} database");
            return Err(ConfigError::of_overlay(&overlay.location, reason));
        }
        if database.kind.entries == EntryPlace::Nowhere && overlay.any_settings().needs_entries() {
            texts.push("a null database has no entries to act on".to_owned());
        }
        notices.extend(texts.into_iter().map(|text| Notice {
            location: overlay.location.clone(),
            subject: ErrorSubject::Overlay,
            text: format!("overlay {}: {text}", overlay.name()),
            kind: NoticeKind::Statement,
        }));
    }
    let missing = missing_indexes(database, schema);
    notices.extend(missing.into_iter().map(|(overlay, name)| {
        let kind = overlay.name();
        Notice {
            location: overlay.location.clone(),
            subject: ErrorSubject::Overlay,
            text: format!("overlay {kind}: \"{name}\" has no eq index: many writes will read all entries"),
            kind: NoticeKind::Index,
        }
    }));
    Ok(notices)
}

/// The attributes that overlays of a database look up by equality without an index, each with the overlay.
pub fn missing_indexes<'a>(database: &'a DatabaseConfig, schema: &Schema) -> Vec<(&'a OverlayConfig, String)> {
    let is_active = |overlay: &&OverlayConfig| database.kind.has_indexes() && !overlay.is_disabled;
    let overlays = database.overlays.iter().filter(is_active);
    let looked_up = overlays.flat_map(|overlay| {
        overlay
            .any_settings()
            .looked_up()
            .into_iter()
            .map(move |name| (overlay, name))
    });
    looked_up
        .filter(|(_, name)| !is_indexed(database, schema, name, IndexKinds::EQUALITY))
        .collect()
}

/// Whether an index of some of `kinds` answers for an attribute: its own, or that of a supertype.
pub fn is_indexed(database: &DatabaseConfig, schema: &Schema, name: &str, kinds: IndexKinds) -> bool {
    let Ok(wanted) = schema.attribute_description(name.as_bytes()) else {
        return false;
    };
    let serves = |index: &IndexSetting| {
        let found = schema.attribute_description(index.attribute.as_bytes());
        index.built().0 & kinds.0 != 0
            && found.is_ok_and(|indexed| {
                if index.kinds.contains(IndexKinds::NO_SUBTYPES) {
                    indexed == wanted
                } else {
                    schema.is_description_subtype(&wanted, &indexed)
                }
            })
    };
    let is_object_class = &*schema.attribute_type(wanted.attribute_type).oid == "2.5.4.0";
    (is_object_class && kinds.contains(IndexKinds::EQUALITY)) || database.mdb.indexes.iter().any(serves)
}
