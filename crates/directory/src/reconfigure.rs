//! From one configuration to the next while serving, in two steps. *Prepare* does everything that can fail: it opens
//! databases, makes overlays and trees, and then lets all writers wait, so that the checked state does not change any
//! more. *Commit* swaps the configuration, and cannot fail. In between the server writes the configuration to disk.
//!
//! Invariants: a prepared configuration has no effect that clients can see, until it is committed. The order of locks
//! is [`RunningState`], then the writers; a writer takes neither.

mod assemble;
mod commit;
mod continuing;
mod factories;
mod pause;
mod plan;
pub(crate) mod renewal;
mod restrictions;
pub(crate) mod schema_use;
mod state;
pub(crate) mod targets;

use std::sync::{Arc, MutexGuard};

use ironbark_config::{Restrict, SettingError};

pub(crate) use assemble::{with_contexts, without_databases};
pub use commit::Prepared;
pub use factories::{ExternalFactory, Factories, OverlayFactory, OwnUrl, RootDseFactory, ServerIdFactory, TreeFactory};
pub use renewal::Renewal;
use restrictions::Restricted;
pub(crate) use state::RunningState;
use state::{NewDatabases, Planned, Source};

use crate::{Configuration, Directory, OpenError, backend::open::failed, overlay::Pipeline};

/// See [`Service::prepare`](crate::Service::prepare).
pub(crate) fn prepare<'s>(
    directory: &'s Arc<Directory>,
    state: MutexGuard<'s, RunningState>,
    read: ironbark_config::LoadedConfiguration,
) -> Result<Prepared<'s>, OpenError> {
    let restricted = state.restricted.clone();
    prepare_restricted(directory, state, read, restricted)
}

/// See [`Service::restrict`](crate::Service::restrict). `None`: there is no such database.
pub(crate) fn restrict<'s>(
    directory: &'s Arc<Directory>,
    state: MutexGuard<'s, RunningState>,
    number: i32,
    refused: Restrict,
) -> Result<Option<Prepared<'s>>, OpenError> {
    let Some(read) = state.read.clone() else {
        return Ok(None);
    };
    let Some(new) = Restricted::new(&read, number, refused) else {
        return Ok(None);
    };
    let others = state.restricted.iter().filter(|other| !other.is_of_same(&new));
    let restricted = others.cloned().chain([new.clone()]).collect();
    prepare_restricted(directory, state, read, restricted).map(Some)
}

/// Prepares a configuration, together with the restrictions that it does not change.
fn prepare_restricted<'s>(
    directory: &'s Arc<Directory>,
    mut state: MutexGuard<'s, RunningState>,
    read: ironbark_config::LoadedConfiguration,
    mut restricted: Vec<Restricted>,
) -> Result<Prepared<'s>, OpenError> {
    if state.has_ended {
        return Err(OpenError::ShuttingDown);
    }
    let mut effective = read.clone();
    restricted.retain(|one| one.apply(&mut effective));
    for database in effective.databases.iter_mut().chain([&mut effective.config]) {
        database.note_own_lines(&*state.factories.own_url);
    }
    effective.note_glued_into_providers();
    let current = directory.configuration();
    assemble::keep_equal_schema(&current, &mut effective);
    state.closed.retain(|(_, closed)| !closed.is_gone());
    let mut made = NewDatabases::default();
    let global = plan::global_overlays(&state.factories, &current, &effective)?;
    let planned = plan::plan(directory, &mut state, &current, &effective, &global, &mut made.0)?;
    targets::check(&planned)?;
    let root_dse = (state.factories.root_dse)(&effective.global).map_err(OpenError::Configuration)?;
    let server_id = (state.factories.server_id)(&effective.global, state.server_id);
    let server_id = server_id.map_err(OpenError::Configuration)?;
    continuing::check_indexes(&effective.schema, &planned)?;
    check_schema_use(&state, &current, &effective, &planned)?;
    let paused = pause::all(&state, &current)?;
    // Writes continued until now.
    check_schema_use(&state, &current, &effective, &planned)?;
    let others = pause::others(&mut state, &current, &effective, &planned)?;
    let contexts = pause::contexts(directory, &state, &made.0, planned, &others);
    let next = assemble::dated(
        directory,
        &current,
        effective,
        contexts,
        &root_dse,
        Pipeline::new(global),
    )?;
    Ok(Prepared {
        paused,
        made,
        others,
        current,
        next: Arc::new(next),
        server_id,
        read,
        restricted,
        directory,
        state,
    })
}

/// Refuses a schema that lacks definitions in use by entries of continuing databases.
fn check_schema_use(
    state: &RunningState,
    current: &Configuration,
    read: &ironbark_config::LoadedConfiguration,
    planned: &[Planned],
) -> Result<(), OpenError> {
    if Arc::ptr_eq(&current.schema, &read.schema) {
        return Ok(());
    }
    for Planned { settings, source, .. } in planned {
        let running = match source {
            Source::Kept(at) => state.running.get(*at),
            _ => None,
        };
        let Some(running) = running else { continue };
        let database = &running.database;
        let lost = database.lost_attributes(&read.schema);
        let used = schema_use::find(database, &read.schema, &lost).map_err(|source| failed(settings, source))?;
        if let Some(what) = used {
            let suffix = settings.suffixes.first().map_or("", |suffix| suffix.pretty());
            return Err(SettingError::Wrong(format!("database {suffix}: {what}")).into());
        }
    }
    Ok(())
}
