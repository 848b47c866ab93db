//! The swap: all writers wait, and go on with the new configuration.

use std::sync::Arc;

use ironbark_store::Database;

use super::{Planned, RunningDatabase, RunningState, Source, assemble, check_schema_use, continuing, failed};
use crate::{
    Configuration, Directory, NamingContext, OpenError,
    backend::{
        naming_context::{Attached, Backend, ReferralPresence},
        queue::{Pausing, REMOVED, SHUTTING_DOWN, Served},
        root_dse::RootDseAddition,
    },
    frontend::root_dse,
    overlay::{Overlay, Pipeline},
    stamp::generalized_time,
};

/// The swap, with all writers waiting.
pub(super) fn go_over(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    current: &Configuration,
    (read, root_dse, global): (ironbark_config::Configuration, &[RootDseAddition], Vec<Arc<Overlay>>),
    planned: Vec<Planned>,
    made: &mut Vec<RunningDatabase>,
) -> Result<(), OpenError> {
    let paused = pause(state)?;
    check_schema_use(state, current, &read, &planned)?;
    let others = others(state, current, &read, &planned)?;
    let chosen = (state.factories.server_id)(&read.global);
    let server_id = chosen.map_err(OpenError::Configuration)?;
    let contexts = contexts(directory, state, made, planned, &others);
    let mut configuration = assemble::configuration(read, contexts, root_dse, Pipeline::new(global))?;
    root_dse::date_subschema(
        &mut configuration,
        current,
        &generalized_time::text(directory.clock().now().unix_seconds()),
    );
    let configuration = Arc::new(configuration);
    continuing::define_indexes(&configuration, current, state)?;
    continuing::tell_of_later(current, &configuration.contexts);
    directory.swap(Arc::clone(&configuration), server_id);
    for (running, other) in state.running.iter_mut().zip(others) {
        if let Some(other) = other {
            (running.database, running.cache) = (other.database, other.cache);
        }
    }
    let (mut gone, mut resumed) = (Vec::new(), Vec::new());
    for (running, paused) in std::mem::take(&mut state.running).into_iter().zip(paused) {
        if let Some(served) = served(&configuration, running.cache) {
            resumed.push(paused.resume(served));
            state.running.push(running);
        } else {
            gone.push(running);
        }
    }
    for mut new in made.drain(..) {
        if let (Some(first), Some(served)) = (new.first.take(), served(&configuration, new.cache)) {
            // The writer waits for it.
            let _ = first.send(served);
        }
        state.running.push(new);
    }
    for writer in resumed {
        writer.wait();
    }
    for running in gone {
        running.writer.close(REMOVED);
        state.closed.push((running.place.clone(), running.database.closed()));
        running.end();
    }
    Ok(())
}

/// Lets all writers end what they have been given, and wait.
fn pause(state: &RunningState) -> Result<Vec<Pausing>, OpenError> {
    let ended = || OpenError::Configuration(SHUTTING_DOWN.to_owned());
    let paused: Option<Vec<Pausing>> = state.running.iter().map(|running| running.writer.pause()).collect();
    let paused = paused.ok_or_else(ended)?;
    if paused.iter().all(Pausing::is_reached) {
        Ok(paused)
    } else {
        Err(ended())
    }
}

/// A running database under another schema, or with other naming contexts.
struct Other {
    database: Arc<Database>,
    cache: u64,
}

/// For each running database what it is from now on; `None`: what it is.
fn others(
    state: &mut RunningState,
    current: &Configuration,
    read: &ironbark_config::Configuration,
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

fn contexts(
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
                referrals: ReferralPresence::default(),
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
            Source::Null => {
                let writer = directory.trees().clone();
                Some((Backend::Null { writer }, 0))
            }
            Source::Tree(tree) => {
                let writer = directory.trees().clone();
                Some((Backend::InMemory { tree, writer }, 0))
            }
        };
        // Each source is the position of something that is there.
        if let Some((backend, cache)) = found {
            contexts.push(Arc::new(NamingContext {
                number,
                cache,
                settings,
                attached: Attached::new(overlays),
                backend,
            }));
        }
    }
    contexts
}

/// What a writer serves under a configuration.
fn served(configuration: &Arc<Configuration>, cache: u64) -> Option<Served> {
    let context = configuration.contexts.iter().find(|context| context.cache == cache)?;
    Some(Served {
        configuration: Arc::clone(configuration),
        context: Arc::clone(context),
    })
}
