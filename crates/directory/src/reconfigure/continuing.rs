//! Changes of continuing databases: their indexes, which their writers update, and settings that must wait.

use std::sync::Arc;

use ironbark_config::EnvironmentFlags;
use ironbark_model::Schema;
use ironbark_store::Database;

use super::state::{Planned, Source};
use crate::{
    Configuration, NamingContext, OpenError,
    backend::open::{self, failed},
};

/// Refuses indexes that could not be defined. Writers define them when the configuration is in force, so no index is
/// dropped or built for a configuration that never is.
pub(super) fn check_indexes(schema: &Schema, planned: &[Planned]) -> Result<(), OpenError> {
    let is_stored = |planned: &&Planned| matches!(planned.source, Source::Kept(_) | Source::New(_));
    for Planned { settings, .. } in planned.iter().filter(is_stored) {
        Database::check_indexes(schema, &open::options(settings).indexes).map_err(|source| failed(settings, source))?;
    }
    Ok(())
}

/// Logs which settings of continuing databases take effect only when the file is opened again.
pub(super) fn tell_of_later(current: &Configuration, contexts: &[Arc<NamingContext>]) {
    for context in contexts {
        let Some(database) = context.database() else { continue };
        let is_former =
            |former: &&Arc<NamingContext>| former.database().is_some_and(|other| other.is_same_file(database));
        let Some(former) = current.contexts.iter().find(is_former) else {
            continue;
        };
        let (old, new) = (&former.settings.mdb, &context.settings.mdb);
        let flags = |flags: EnvironmentFlags| {
            [
                EnvironmentFlags::NO_SYNC,
                EnvironmentFlags::MAP_ASYNC,
                EnvironmentFlags::NO_META_SYNC,
                EnvironmentFlags::NO_READ_AHEAD,
            ]
            .map(|flag| flags.contains(flag))
        };
        let later: Vec<&str> = [
            ("maxsize", old.max_size != new.max_size),
            ("maxreaders", old.max_readers != new.max_readers),
            ("mode", old.mode != new.mode),
            ("envflags", flags(old.flags) != flags(new.flags)),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect();
        if !later.is_empty() {
            let suffix = context.suffixes().first().map_or("", |suffix| suffix.pretty());
            tracing::warn!(target: "any", "{suffix}: {} will be in force when the server is started again", later.join(", "));
        }
    }
}
