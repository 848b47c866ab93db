//! What changes on databases that go on: their indexes, and settings that have to wait.

use std::sync::Arc;

use ironbark_config::EnvironmentFlags;

use super::{RunningState, failed};
use crate::{Configuration, NamingContext, OpenError, backend::open};

/// Defines the indexes of databases that go on; when one cannot have its own, the others get back theirs.
pub(super) fn define_indexes(
    configuration: &Configuration,
    current: &Configuration,
    state: &RunningState,
) -> Result<(), OpenError> {
    let mut changed: Vec<&Arc<NamingContext>> = Vec::new();
    for context in &configuration.contexts {
        let Some(database) = context.database() else { continue };
        let was_open = state
            .running
            .iter()
            .any(|running| running.database.is_same_file(database));
        if !was_open {
            continue;
        }
        if let Err(source) = database.define_indexes(&open::options(&context.settings).indexes) {
            for context in changed {
                take_back(context, current);
            }
            return Err(failed(&context.settings, source));
        }
        changed.push(context);
    }
    Ok(())
}

fn take_back(context: &NamingContext, current: &Configuration) {
    let Some(database) = context.database() else { return };
    let is_former = |former: &&Arc<NamingContext>| former.database().is_some_and(|other| other.is_same_file(database));
    let Some(former) = current.contexts.iter().find(is_former) else {
        return;
    };
    if let Some(database) = former.database()
        && let Err(error) = database.define_indexes(&open::options(&former.settings).indexes)
    {
        tracing::error!(target: "any", "restoring the indexes of a database: {error}");
    }
}

/// Says which settings of databases that go on come into force only when the file is opened anew.
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
