//! The directory in service: it is opened, gets new configurations, and is closed.

use std::{
    ops::Deref,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
};

use ironbark_config::{Restrict, SettingError};
use ironbark_ldap_proto::DecodeLimits;
use ironbark_runtime::{Clock, Randomness, spawn_named};
use ironbark_store::IndexProgress;

use crate::{
    Configuration, Directory, OpenError,
    backend::{
        in_memory::{Governor, PreparedConfiguration},
        queue,
    },
    reactor::{bare::BareAnswer, long_searches::LongSearches, worker::Worker},
    reconfigure::{self, Factories, Prepared, Renewal, RunningState},
    refusal::QueueRefusal,
    write,
};

// The configuration refuses a filter depth that decoding would not obey.
const _: () = assert!(ironbark_config::MAX_FILTER_DEPTH as usize == DecodeLimits::MAX_FILTER_DEPTH);

/// The input for opening a service.
pub struct OpenOptions {
    /// The whole configuration.
    pub configuration: ironbark_config::LoadedConfiguration,
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub randomness: Randomness,
    /// The factories of what each configuration needs.
    pub factories: Factories,
    /// Whether every search gets the same answer, as a limit for benchmarks.
    pub bare: bool,
}

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBuild {
    /// Number of the database in the configuration.
    pub database: i32,
    /// Its progress.
    pub progress: IndexProgress,
}

/// The directory in service. All reactors share it.
pub struct Service {
    directory: Arc<Directory>,
    long_searches: Arc<LongSearches>,
    /// The running parts of the configuration in force. A change of configuration locks this.
    state: Mutex<RunningState>,
    trees_thread: Mutex<Option<JoinHandle<()>>>,
    bare: OnceLock<Arc<BareAnswer>>,
}

impl Deref for Service {
    type Target = Arc<Directory>;

    fn deref(&self) -> &Arc<Directory> {
        &self.directory
    }
}

impl Governor for Service {
    fn prepare(
        &self,
        configuration: ironbark_config::LoadedConfiguration,
    ) -> Result<Box<dyn PreparedConfiguration + '_>, OpenError> {
        Ok(Box::new(Self::prepare(self, configuration)?))
    }

    fn restrict(&self, number: i32, refused: Restrict) -> Result<(), OpenError> {
        Self::restrict(self, number, refused)
    }
}

impl Service {
    /// Opens all databases and starts their writers.
    ///
    /// # Errors
    /// A database cannot be opened, or an overlay cannot be made. The error names it.
    pub fn open(options: OpenOptions) -> Result<Arc<Self>, OpenError> {
        let failed = |error: std::io::Error| SettingError::Unavailable(error.to_string());
        let (trees, orders) = queue::queue();
        let configuration = reconfigure::without_databases(&options.configuration)?;
        let directory = Directory::new(configuration, options.clock, options.randomness, trees);
        let service = Arc::new(Self {
            directory: Arc::new(directory),
            long_searches: Arc::default(),
            state: Mutex::new(RunningState::new(options.factories)),
            trees_thread: Mutex::default(),
            bare: OnceLock::new(),
        });
        let for_thread = Arc::clone(&service);
        let serve = move || write::run_trees(&for_thread.directory, &*for_thread, &orders);
        let thread = spawn_named("config", serve).map_err(failed)?;
        *service.trees_thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        let opened = service.reconfigure(options.configuration).and_then(|()| {
            let answer = if options.bare {
                bare_answer(&service.configuration())?
            } else {
                None
            };
            if let Some(answer) = answer {
                // Only this function sets it.
                let _ = service.bare.set(Arc::new(answer));
            }
            Ok(())
        });
        if let Err(error) = opened {
            service.close();
            return Err(error);
        }
        Ok(service)
    }

    /// Makes the worker of one reactor.
    pub fn worker(&self) -> Worker {
        let bare = self.bare.get().map(Arc::clone);
        Worker::new(Arc::clone(&self.directory), Arc::clone(&self.long_searches), bare)
    }

    /// Prepares another configuration: makes everything that it needs and that can fail. From then on all writers wait
    /// until the result is committed or dropped. If it is dropped, everything stays as it was. Only the empty files of
    /// a new database remain in its directory, which must exist before.
    ///
    /// A commit puts the configuration into force. Operations that have begun end under their former configuration,
    /// including writes that waited in a queue. A later write is executed under the new one. A database that keeps its
    /// directory goes on as it is. A new database is served. A removed database has answered its last write when the
    /// commit returns, and is closed when its last reader has ended.
    ///
    /// # Errors
    /// Something cannot be opened (the error names it), or the schema lacks definitions that entries use.
    pub fn prepare(&self, configuration: ironbark_config::LoadedConfiguration) -> Result<Prepared<'_>, OpenError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        reconfigure::prepare(&self.directory, state, configuration)
    }

    /// [Prepares](Self::prepare) a configuration that is stored nowhere, and commits it.
    ///
    /// # Errors
    /// As of [`Service::prepare`].
    pub fn reconfigure(&self, configuration: ironbark_config::LoadedConfiguration) -> Result<(), OpenError> {
        self.prepare(configuration).map(Prepared::commit)
    }

    /// Makes the database with this number refuse these operations, and no others. This lasts until the server ends, or
    /// until a new configuration has other restrictions than the one in force. A database that refuses all writes is
    /// read-only.
    ///
    /// # Errors
    /// The server is ending.
    pub fn restrict(&self, number: i32, refused: Restrict) -> Result<(), OpenError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = reconfigure::restrict(&self.directory, state, number, refused)? {
            prepared.commit();
        }
        Ok(())
    }

    /// Closes the stored database in this folder, so that it can get another file. Until [`Service::end_renewal`] its
    /// requests are answered with `unavailable`. `None`: there is no such database.
    ///
    /// # Errors
    /// The server is ending.
    pub fn begin_renewal(&self, folder: &Path) -> Result<Option<Renewal>, OpenError> {
        reconfigure::renewal::begin(&self.directory, &self.state, folder)
    }

    /// Opens such a database again, and serves it.
    ///
    /// # Errors
    /// It cannot be opened; it stays unavailable. The server is ending.
    pub fn end_renewal(&self, renewal: &Renewal) -> Result<(), OpenError> {
        reconfigure::renewal::end(&self.directory, &self.state, renewal)
    }

    /// The indexes that are being built, in all databases.
    ///
    /// # Errors
    /// The storage failed.
    pub fn index_builds(&self) -> Result<Vec<IndexBuild>, OpenError> {
        let mut builds = Vec::new();
        for context in &self.configuration().contexts {
            let Some(database) = context.database().filter(|database| database.has_index_work()) else {
                continue;
            };
            let progress = database.index_progress().map_err(|source| OpenError::Store {
                suffix: context
                    .suffixes()
                    .first()
                    .map_or("", |suffix| suffix.pretty())
                    .to_owned(),
                source,
            })?;
            builds.extend(progress.into_iter().map(|progress| IndexBuild {
                database: context.number,
                progress,
            }));
        }
        Ok(builds)
    }

    /// Ends the writers after the writes that they have. A later write is answered with `unavailable`.
    pub fn refuse_writes(&self) {
        self.directory.trees().close(QueueRefusal::ShuttingDown);
        let configuration = self.configuration();
        for context in &configuration.contexts {
            // What followers write to ends after them.
            if let Some(writer) = context.backend.own_writer()
                && !reconfigure::targets::is_written_to(&configuration, context)
            {
                writer.close(QueueRefusal::ShuttingDown);
            }
        }
    }

    /// Whether every writer is running. A writer that has ended by itself leaves writes without an answer.
    pub fn has_all_writers(&self) -> bool {
        let trees = self.trees_thread.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = trees.as_ref().is_some_and(JoinHandle::is_finished);
        // A change of the configuration holds the lock. This does not wait for it.
        let state = self.state.try_lock();
        !has_ended && state.map_or(true, |state| state.has_all_writers())
    }

    /// Waits until the writers have ended; at last they flush to disk. After this the configuration cannot change.
    pub fn close(&self) {
        self.long_searches.end();
        self.refuse_writes();
        let trees = self.trees_thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = trees {
            // A writer that panicked has logged it.
            let _ = thread.join();
        }
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .close(&self.configuration());
    }
}

fn bare_answer(configuration: &Configuration) -> Result<Option<BareAnswer>, OpenError> {
    BareAnswer::new(configuration).map_err(|error| SettingError::Wrong(error.diagnostic_message.into_owned()).into())
}
