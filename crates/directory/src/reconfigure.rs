//! From one configuration to the next while serving: what is new is made, all writers wait for a moment, the configuration is swapped.
//!
//! Invariant: until the swap nothing has changed that a client could see, and nothing after it can fail.

mod assemble;
mod live;
mod plan;
mod swap;

use std::{
    path::PathBuf,
    sync::{Arc, mpsc::Sender},
    thread::JoinHandle,
};

use ironbark_config::{DatabaseConfig, Operations};
use ironbark_store::{ClosedDatabase, Database};

use crate::{
    Configuration, Directory, OpenError,
    ldif::{LdifFiles, LdifLock},
    open::failed,
    overlay::Pipeline,
    schema_use,
    tree::VirtualContext,
    writer::{REMOVED, SHUTTING_DOWN, Served, WriterHandle},
};

pub(crate) use assemble::without_databases;

/// What runs for the configuration in force.
#[derive(Default)]
pub(crate) struct Live {
    running: Vec<Running>,
    /// The configuration in force as it was read.
    read: Option<ironbark_config::Configuration>,
    /// Databases that are no longer served, and may be in use by searches that began before.
    closed: Vec<(PathBuf, ClosedDatabase)>,
    last_cache: u64,
    /// The server ends.
    has_ended: bool,
}

/// A database and its writer.
struct Running {
    /// What tells it from others: the directory, without symbolic links; of an ldif database the file of its topmost entry.
    place: PathBuf,
    database: Arc<Database>,
    /// See [`Backend::Stored`](crate::Backend).
    files: Option<Arc<LdifFiles>>,
    _lock: Option<LdifLock>,
    /// See [`Context::cache`].
    cache: u64,
    writer: WriterHandle,
    thread: JoinHandle<()>,
    /// Tells the writer what to serve at first.
    first: Option<Sender<Served>>,
}

/// What serves one context of the new configuration.
enum Source {
    /// Position in [`Live::running`].
    Kept(usize),
    /// Position among the new databases.
    New(usize),
    Tree(Arc<dyn VirtualContext>),
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

impl Live {
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

impl Running {
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
    live: &mut Live,
    mut read: ironbark_config::Configuration,
) -> Result<(), OpenError> {
    if live.has_ended {
        return Err(OpenError::Configuration(SHUTTING_DOWN.to_owned()));
    }
    let current = directory.configuration();
    assemble::keep_equal_schema(&current, &mut read);
    live.closed.retain(|(_, closed)| !closed.is_gone());
    let mut made = Vec::new();
    let result = attempt(directory, live, &current, read, &mut made);
    if result.is_err() {
        for new in made {
            new.writer.close(REMOVED);
            new.end();
        }
    }
    result
}

/// See [`Directory::set_read_only`].
pub(crate) fn set_read_only(
    directory: &Arc<Directory>,
    live: &mut Live,
    number: i32,
    is_read_only: bool,
) -> Result<(), OpenError> {
    let mut read = live.read.clone();
    let settings = read.as_mut().and_then(|read| match number {
        0 => Some(&mut read.config),
        _ => read.databases.get_mut(usize::try_from(number).ok()?.checked_sub(1)?),
    });
    if let Some(settings) = settings {
        settings.read_only = is_read_only;
        if !is_read_only {
            settings.restrict.operations = settings.restrict.operations.without(Operations::WRITE);
        }
    }
    read.map_or(Ok(()), |read| reconfigure(directory, live, read))
}

fn attempt(
    directory: &Arc<Directory>,
    live: &mut Live,
    current: &Configuration,
    read: ironbark_config::Configuration,
    made: &mut Vec<Running>,
) -> Result<(), OpenError> {
    let planned = plan::plan(directory, live, current, &read, made)?;
    let root_dse = (directory.factories().root_dse)(&read.global).map_err(OpenError::Configuration)?;
    check_schema_use(live, current, &read, &planned)?;
    swap::go_over(directory, live, current, (read, &root_dse), planned, made)
}

/// Refuses a schema that lacks what entries of databases that go on use. Writes go on meanwhile, so that this is asked once more when
/// they wait.
fn check_schema_use(
    live: &Live,
    current: &Configuration,
    read: &ironbark_config::Configuration,
    planned: &[Planned],
) -> Result<(), OpenError> {
    if Arc::ptr_eq(&current.schema, &read.schema) {
        return Ok(());
    }
    for Planned { settings, source, .. } in planned {
        let running = match source {
            Source::Kept(at) => live.running.get(*at),
            Source::New(_) | Source::Tree(_) | Source::Null => None,
        };
        let Some(Running { database, .. }) = running else {
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
