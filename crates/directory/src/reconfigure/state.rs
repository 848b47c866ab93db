//! The parts that run for the configuration in force, and the parts made for the next one.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc::Sender},
    thread::JoinHandle,
};

use ironbark_config::{DatabaseConfig, kinds::NullConfig};
use ironbark_store::{ClosedDatabase, Database};

use super::{factories::Factories, restrictions::Restricted, targets};
use crate::{
    Configuration,
    backend::{
        external::ExternalDatabase,
        in_memory::InMemoryTree,
        ldif::{LdifFiles, LdifLock},
        queue::{Served, WriterHandle},
    },
    overlay::Pipeline,
    refusal::QueueRefusal,
};

/// The parts that run for the configuration in force.
pub(crate) struct RunningState {
    /// Makes the parts that the directory cannot make itself.
    pub(super) factories: Factories,
    pub(super) running: Vec<RunningDatabase>,
    /// The configuration in force as it was read.
    pub(super) read: Option<ironbark_config::LoadedConfiguration>,
    /// Restrictions in addition to it.
    pub(super) restricted: Vec<Restricted>,
    /// Databases that are closed until they get another file, by [`RunningDatabase::place`].
    pub(super) renewed: Vec<PathBuf>,
    /// `serverID` in force.
    pub(super) server_id: Option<u16>,
    /// Databases that are no longer served, and may still be in use by earlier searches.
    pub(super) closed: Vec<(PathBuf, ClosedDatabase)>,
    last_cache: u64,
    /// The server is ending.
    pub(super) has_ended: bool,
}

/// A database and its writer.
pub(super) struct RunningDatabase {
    /// Identifies the database: the directory, without symbolic links; for an ldif database the file of its topmost
    /// entry.
    pub(super) place: PathBuf,
    pub(super) database: Arc<Database>,
    /// See [`Backend::Stored`](crate::Backend).
    pub(super) files: Option<Arc<LdifFiles>>,
    pub(super) _lock: Option<LdifLock>,
    /// See [`NamingContext::cache`](crate::NamingContext).
    pub(super) cache: u64,
    pub(super) writer: WriterHandle,
    pub(super) thread: JoinHandle<()>,
    /// Tells the writer what to serve first.
    pub(super) first: Option<Sender<Served>>,
}

/// New databases whose writers wait for their first configuration. If this is dropped, they are closed again.
#[derive(Default)]
pub(super) struct NewDatabases(pub(super) Vec<RunningDatabase>);

/// The part that serves one context of the new configuration.
pub(super) enum Source {
    /// Position in [`RunningState::running`].
    Kept(usize),
    /// Position among the new databases.
    New(usize),
    Tree(Arc<dyn InMemoryTree>),
    External(Arc<dyn ExternalDatabase>),
    /// Nothing has to be made.
    Null(NullConfig),
}

/// A context of the new configuration, before its database is known under the new schema.
pub(super) struct Planned {
    pub(super) number: i32,
    pub(super) settings: DatabaseConfig,
    pub(super) overlays: Pipeline,
    pub(super) source: Source,
}

impl RunningState {
    /// The state before the first configuration.
    pub(crate) fn new(factories: Factories) -> Self {
        Self {
            factories,
            running: Vec::new(),
            read: None,
            restricted: Vec::new(),
            renewed: Vec::new(),
            server_id: None,
            closed: Vec::new(),
            last_cache: 0,
            has_ended: false,
        }
    }

    /// Ends all writers; last those of databases that followers of others write to.
    pub(crate) fn close(&mut self, current: &Configuration) {
        self.has_ended = true;
        let running = std::mem::take(&mut self.running).into_iter();
        let (last, first): (Vec<_>, Vec<_>) = running.partition(|running| targets::is_target(current, running.cache));
        for wave in [first, last] {
            for running in &wave {
                running.writer.close(QueueRefusal::ShuttingDown);
            }
            for running in wave {
                running.end();
            }
        }
    }

    /// Whether every writer still runs.
    pub(crate) fn has_all_writers(&self) -> bool {
        !self.running.iter().any(|running| running.thread.is_finished())
    }

    pub(super) fn next_cache(&mut self) -> u64 {
        self.last_cache += 1;
        self.last_cache
    }
}

impl RunningDatabase {
    /// Waits for the writer, which has been told to end.
    pub(super) fn end(self) {
        drop(self.first);
        // A writer that panicked has reported it already.
        let _ = self.thread.join();
    }
}

impl Drop for NewDatabases {
    fn drop(&mut self) {
        for new in self.0.drain(..) {
            new.writer.close(QueueRefusal::Removed);
            new.end();
        }
    }
}
