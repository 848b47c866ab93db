//! From one configuration to the next while serving: what is new is made, all writers wait for a moment, the
//! configuration is swapped.
//!
//! Invariant: until the swap nothing has changed that a client could see, and nothing after it can fail.

mod assemble;
mod continuing;
mod factories;
mod plan;
mod restrictions;
pub(crate) mod schema_use;
mod swap;

use std::{
    path::PathBuf,
    sync::{Arc, mpsc::Sender},
    thread::JoinHandle,
};

use ironbark_config::{DatabaseConfig, Restrict};
use ironbark_store::{ClosedDatabase, Database};

pub(crate) use assemble::{with_contexts, without_databases};
pub use factories::{Factories, OverlayFactory, RootDseFactory, ServerIdFactory, TreeFactory};
use restrictions::Restricted;

use crate::{
    Configuration, Directory, OpenError,
    backend::{
        in_memory::InMemoryTree,
        ldif::{LdifFiles, LdifLock},
        open::failed,
        queue::{REMOVED, SHUTTING_DOWN, Served, WriterHandle},
    },
    overlay::Pipeline,
};

/// What runs for the configuration in force.
pub(crate) struct RunningState {
    /// What makes more of a configuration than the directory can.
    factories: Factories,
    running: Vec<RunningDatabase>,
    /// The configuration in force as it was read.
    read: Option<ironbark_config::Configuration>,
    /// What is refused beside it.
    restricted: Vec<Restricted>,
    /// Databases that are no longer served, and may be in use by searches that began before.
    closed: Vec<(PathBuf, ClosedDatabase)>,
    last_cache: u64,
    /// The server ends.
    has_ended: bool,
}

/// A database and its writer.
struct RunningDatabase {
    /// What tells it from others: the directory, without symbolic links; of an ldif database the file of its topmost
    /// entry.
    place: PathBuf,
    database: Arc<Database>,
    /// See [`Backend::Stored`](crate::Backend).
    files: Option<Arc<LdifFiles>>,
    _lock: Option<LdifLock>,
    /// See [`NamingContext::cache`].
    cache: u64,
    writer: WriterHandle,
    thread: JoinHandle<()>,
    /// Tells the writer what to serve at first.
    first: Option<Sender<Served>>,
}

/// What serves one context of the new configuration.
enum Source {
    /// Position in [`RunningState::running`].
    Kept(usize),
    /// Position among the new databases.
    New(usize),
    Tree(Arc<dyn InMemoryTree>),
    /// Nothing has to be made.
    Null,
}

/// A context of the new configuration before its database is known under the new schema.
struct Planned {
    number: i32,
    settings: DatabaseConfig,
    overlays: Pipeline,
    source: Source,
}

impl RunningState {
    /// Before the first configuration.
    pub(crate) fn new(factories: Factories) -> Self {
        Self {
            factories,
            running: Vec::new(),
            read: None,
            restricted: Vec::new(),
            closed: Vec::new(),
            last_cache: 0,
            has_ended: false,
        }
    }

    /// Ends all writers.
    pub(crate) fn close(&mut self) {
        self.has_ended = true;
        for running in &self.running {
            running.writer.close(SHUTTING_DOWN);
        }
        for running in self.running.drain(..) {
            running.end();
        }
    }

    /// Whether each writer goes on.
    pub(crate) fn has_all_writers(&self) -> bool {
        !self.running.iter().any(|running| running.thread.is_finished())
    }

    fn next_cache(&mut self) -> u64 {
        self.last_cache += 1;
        self.last_cache
    }
}

impl RunningDatabase {
    /// Waits for the writer, which has been told to end.
    fn end(self) {
        drop(self.first);
        // A writer that panicked has said so already.
        let _ = self.thread.join();
    }
}

/// See [`Directory::reconfigure`].
pub(crate) fn reconfigure(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    read: ironbark_config::Configuration,
) -> Result<(), OpenError> {
    let restricted = state.restricted.clone();
    put(directory, state, read, restricted)
}

/// See [`Directory::restrict`].
pub(crate) fn restrict(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    number: i32,
    refused: Restrict,
) -> Result<(), OpenError> {
    let Some(read) = state.read.clone() else { return Ok(()) };
    let Some(new) = Restricted::new(&read, number, refused) else {
        return Ok(());
    };
    let others = state.restricted.iter().filter(|other| !other.is_of_same(&new));
    let restricted = others.cloned().chain([new.clone()]).collect();
    put(directory, state, read, restricted)
}

/// Puts a configuration into force, and beside it the restrictions that it says nothing new about.
fn put(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    read: ironbark_config::Configuration,
    mut restricted: Vec<Restricted>,
) -> Result<(), OpenError> {
    let mut effective = read.clone();
    restricted.retain(|one| one.apply(&mut effective));
    go_over(directory, state, effective)?;
    (state.read, state.restricted) = (Some(read), restricted);
    Ok(())
}

fn go_over(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    mut read: ironbark_config::Configuration,
) -> Result<(), OpenError> {
    if state.has_ended {
        return Err(OpenError::Configuration(SHUTTING_DOWN.to_owned()));
    }
    let current = directory.configuration();
    assemble::keep_equal_schema(&current, &mut read);
    state.closed.retain(|(_, closed)| !closed.is_gone());
    let mut made = Vec::new();
    let result = attempt(directory, state, &current, read, &mut made);
    if result.is_err() {
        for new in made {
            new.writer.close(REMOVED);
            new.end();
        }
    }
    result
}

fn attempt(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    current: &Configuration,
    read: ironbark_config::Configuration,
    made: &mut Vec<RunningDatabase>,
) -> Result<(), OpenError> {
    let global = plan::global_overlays(&state.factories, current, &read)?;
    let planned = plan::plan(directory, state, current, (&read, &global), made)?;
    let root_dse = (state.factories.root_dse)(&read.global).map_err(OpenError::Configuration)?;
    check_schema_use(state, current, &read, &planned)?;
    swap::go_over(directory, state, current, (read, &root_dse, global), planned, made)
}

/// Refuses a schema that lacks what entries of databases that go on use. Writes go on meanwhile, so that this is asked
/// once more when they wait.
fn check_schema_use(
    state: &RunningState,
    current: &Configuration,
    read: &ironbark_config::Configuration,
    planned: &[Planned],
) -> Result<(), OpenError> {
    if Arc::ptr_eq(&current.schema, &read.schema) {
        return Ok(());
    }
    for Planned { settings, source, .. } in planned {
        let running = match source {
            Source::Kept(at) => state.running.get(*at),
            Source::New(_) | Source::Tree(_) | Source::Null => None,
        };
        let Some(RunningDatabase { database, .. }) = running else {
            continue;
        };
        let lost = database.lost_attributes(&read.schema);
        let used = schema_use::find(database, &read.schema, &lost).map_err(|source| failed(settings, source))?;
        if let Some(what) = used {
            let suffix = settings.suffixes.first().map_or("", |suffix| suffix.pretty());
            return Err(OpenError::Configuration(format!("database {suffix}: {what}")));
        }
    }
    Ok(())
}
