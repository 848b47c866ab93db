//! The preparations while all writers wait: databases under the new schema, and the contexts that they serve.

use std::sync::Arc;

use ironbark_store::Database;

use super::{
    state::{Planned, RunningDatabase, RunningState, Source},
    targets,
};
use crate::{
    Configuration, Directory, NamingContext, OpenError,
    backend::{
        naming_context::{Attached, Backend},
        open::failed,
        queue::Pausing,
    },
};

/// Lets all writers finish their queued work, and wait; last those of databases that followers of others write to.
pub(super) fn all(state: &RunningState, current: &Configuration) -> Result<Vec<Pausing>, OpenError> {
    let is_target = |running: &RunningDatabase| targets::is_target(current, running.cache);
    let mut paused: Vec<Option<Pausing>> = state.running.iter().map(|_| None).collect();
    for last in [false, true] {
        let wave = state
            .running
            .iter()
            .zip(&mut paused)
            .filter(|(running, _)| is_target(running) == last);
        let mut waited = Vec::new();
        for (running, place) in wave {
            *place = running.writer.pause();
            waited.push(&*place);
        }
        if !waited
            .iter()
            .all(|paused| paused.as_ref().is_some_and(Pausing::is_reached))
        {
            return Err(OpenError::ShuttingDown);
        }
    }
    Ok(paused.into_iter().flatten().collect())
}

/// A running database under another schema, or with other naming contexts.
pub(super) struct Other {
    pub(super) database: Arc<Database>,
    pub(super) cache: u64,
}

/// The new state of each running database; `None`: unchanged.
pub(super) fn others(
    state: &mut RunningState,
    current: &Configuration,
    read: &ironbark_config::LoadedConfiguration,
    planned: &[Planned],
) -> Result<Vec<Option<Other>>, OpenError> {
    let has_same_schema = Arc::ptr_eq(&current.schema, &read.schema);
    let mut others = Vec::new();
    for at in 0..state.running.len() {
        let settings = planned
            .iter()
            .find(|planned| matches!(planned.source, Source::Kept(kept) if kept == at));
        let (Some(running), Some(Planned { settings, .. })) = (state.running.get(at), settings) else {
            others.push(None);
            continue;
        };
        if has_same_schema && running.database.options().suffixes == settings.suffixes {
            others.push(None);
            continue;
        }
        let database = &running.database;
        // No entry has a retired attribute, so this has no effect under the schema in force.
        let another = database
            .retire(&database.lost_attributes(&read.schema))
            .and_then(|()| database.under(Arc::clone(&read.schema), settings.suffixes.clone()))
            .map_err(|source| failed(settings, source))?;
        let cache = state.next_cache();
        others.push(Some(Other {
            database: Arc::new(another),
            cache,
        }));
    }
    Ok(others)
}

/// The contexts of the new configuration.
pub(super) fn contexts(
    directory: &Directory,
    state: &RunningState,
    made: &[RunningDatabase],
    planned: Vec<Planned>,
    others: &[Option<Other>],
) -> Vec<Arc<NamingContext>> {
    let mut contexts = Vec::new();
    for Planned {
        number,
        settings,
        overlays,
        source,
    } in planned
    {
        let stored = |running: &RunningDatabase, other: Option<&Other>| {
            let (database, cache) = match other {
                Some(Other { database, cache }) => (database, *cache),
                None => (&running.database, running.cache),
            };
            let backend = Backend::Stored {
                database: Arc::clone(database),
                writer: running.writer.clone(),
                files: running.files.clone(),
            };
            (backend, cache)
        };
        let found = match source {
            Source::Kept(at) => state
                .running
                .get(at)
                .map(|running| stored(running, others.get(at).and_then(Option::as_ref))),
            Source::New(at) => made.get(at).map(|running| stored(running, None)),
            Source::Null(settings) => {
                let writer = directory.trees().clone();
                Some((Backend::Null { writer, settings }, 0))
            }
            Source::External(database) => Some((Backend::External(database), 0)),
            Source::Tree(tree) => {
                let writer = directory.trees().clone();
                Some((Backend::InMemory { tree, writer }, 0))
            }
        };
        // Each source is the position of an existing item.
        if let Some((backend, cache)) = found {
            contexts.push(Arc::new(NamingContext {
                number,
                cache,
                settings,
                has_followers: overlays.has_followers(),
                attached: Attached::new(overlays),
                backend,
            }));
        }
    }
    contexts
}
