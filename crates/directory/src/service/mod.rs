//! The directory while it serves: opened, put under other configurations, closed.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
};

use ironbark_config::Restrict;
use ironbark_ldap_proto::DecodeLimits;
use ironbark_runtime::{Clock, Randomness, spawn_named};
use ironbark_store::IndexProgress;

use crate::{
    Configuration, Directory, OpenError,
    backend::{
        in_memory::{Governor, PreparedConfiguration},
        queue::{self, SHUTTING_DOWN},
    },
    reactor::{bare::BareAnswer, long_searches::LongSearches, worker::Worker},
    reconfigure::{self, Factories, Prepared, RunningState},
    write,
};

// The configuration refuses a depth that decoding would not obey.
const _: () = assert!(ironbark_config::MAX_FILTER_DEPTH as usize == DecodeLimits::MAX_FILTER_DEPTH);

/// What a service is opened with.
pub struct OpenOptions {
    /// Everything that was configured.
    pub configuration: ironbark_config::Configuration,
    /// Time.
    pub clock: Clock,
    /// Randomness.
    pub randomness: Randomness,
    /// What is made of each configuration.
    pub factories: Factories,
    /// Whether searches are answered barely, as a limit for benchmarks.
    pub bare: bool,
}

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBuild {
    /// Number of the database in the configuration.
    pub database: i32,
    /// How far it is.
    pub progress: IndexProgress,
}

/// The directory while it serves. Shared by all reactors.
pub struct Service {
    directory: Arc<Directory>,
    long_searches: Arc<LongSearches>,
    /// What runs for the configuration in force; whoever changes that holds it.
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
        configuration: ironbark_config::Configuration,
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
    /// A database that cannot be opened, or an overlay that cannot be made, by name.
    pub fn open(options: OpenOptions) -> Result<Arc<Self>, OpenError> {
        let failed = |error: std::io::Error| OpenError::Configuration(error.to_string());
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
                // Nobody else sets it.
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

    /// A worker for one reactor.
    pub fn worker(&self) -> Worker {
        let bare = self.bare.get().map(Arc::clone);
        Worker::new(Arc::clone(&self.directory), Arc::clone(&self.long_searches), bare)
    }

    /// Makes everything that another configuration needs and that can fail; then all writers wait, until what is given
    /// back is committed or dropped. Dropped, it leaves everything as it was, except that the files of a new database
    /// stay, empty, in its directory, which has to exist before.
    ///
    /// Committed, it is in force: operations that have begun end under the configuration that they began with, writes
    /// that waited in a queue included; a write that comes to its queue too late for that is executed under the new
    /// one. A database whose directory stays the same goes on as it is; one that is new is served; one that is gone has
    /// answered its last write when the commit returns, and is closed when nothing reads it any more.
    ///
    /// # Errors
    /// What cannot be had, by name; a schema that lacks what entries use.
    pub fn prepare(&self, configuration: ironbark_config::Configuration) -> Result<Prepared<'_>, OpenError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        reconfigure::prepare(&self.directory, state, configuration)
    }

    /// [Prepares](Self::prepare) a configuration that is kept nowhere, and commits it.
    ///
    /// # Errors
    /// As of [`Service::prepare`].
    pub fn reconfigure(&self, configuration: ironbark_config::Configuration) -> Result<(), OpenError> {
        self.prepare(configuration).map(Prepared::commit)
    }

    /// Lets the database with this number refuse these operations, and no others, until the server ends or a
    /// configuration says something else about them than the one in force. A database that refuses all writes is
    /// read-only.
    ///
    /// # Errors
    /// The server ends.
    pub fn restrict(&self, number: i32, refused: Restrict) -> Result<(), OpenError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = reconfigure::restrict(&self.directory, state, number, refused)? {
            prepared.commit();
        }
        Ok(())
    }

    /// The indexes that are being built, by database.
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

    /// Tells the writers to end after what they have been given: a further write is answered with `unavailable`.
    pub fn refuse_writes(&self) {
        self.directory.trees().close(SHUTTING_DOWN);
        for context in &self.configuration().contexts {
            if let Some(writer) = context.backend.own_writer() {
                writer.close(SHUTTING_DOWN);
            }
        }
    }

    /// Whether each writer goes on. One that has ended by itself leaves writes without an answer.
    pub fn has_all_writers(&self) -> bool {
        let trees = self.trees_thread.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = trees.as_ref().is_some_and(JoinHandle::is_finished);
        // A configuration that is being changed is no reason to wait.
        let state = self.state.try_lock();
        !has_ended && state.map_or(true, |state| state.has_all_writers())
    }

    /// Waits until the writers have ended, which flush to disk at last. The configuration cannot change any more.
    pub fn close(&self) {
        self.long_searches.end();
        self.refuse_writes();
        let trees = self.trees_thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = trees {
            // A writer that panicked has said so already.
            let _ = thread.join();
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).close();
    }
}

fn bare_answer(configuration: &Configuration) -> Result<Option<BareAnswer>, OpenError> {
    BareAnswer::new(configuration).map_err(|error| OpenError::Configuration(error.diagnostic_message.into_owned()))
}
