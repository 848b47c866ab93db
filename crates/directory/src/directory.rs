//! The directory: databases, writers, configuration in force, counters. Shared by all reactors.

use std::{
    rc::Rc,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use ironbark_config::{DatabaseConfig, GlobalConfig, OverlayConfig, Restrict};
use ironbark_ldap_proto::DecodeLimits;
use ironbark_model::Schema;
use ironbark_runtime::{Clock, Randomness, spawn_named};
use ironbark_store::IndexProgress;

use crate::{
    Configuration,
    bare::BareAnswer,
    bind_failures::BindFailures,
    context::Backend,
    dse::RootDseAddition,
    error::OpenError,
    hashing_pool::HashingPool,
    long_searches::LongSearches,
    overlay::Overlay,
    reconfigure::{self, Live},
    stamp::{Stamp, StampGenerator},
    statistics::Statistics,
    tree::VirtualContext,
    writer::{self, SHUTTING_DOWN, WriterHandle},
};

// The configuration refuses a depth that decoding would not obey.
const _: () = assert!(ironbark_config::MAX_FILTER_DEPTH as usize == DecodeLimits::MAX_FILTER_DEPTH);

/// Makes an overlay from its configuration.
pub type OverlayFactory = dyn Fn(&OverlayConfig, &Arc<Schema>) -> Result<Arc<dyn Overlay>, String> + Send + Sync;

/// Makes the tree of cn=config or of a `database monitor`. `None`: it is not served.
pub type TreeFactory = dyn Fn(&DatabaseConfig) -> Option<Arc<dyn VirtualContext>> + Send + Sync;

/// Reads what the `rootDSE` files add to the root DSE: attribute descriptions and values.
pub type RootDseFactory = dyn Fn(&GlobalConfig) -> Result<Vec<RootDseAddition>, String> + Send + Sync;

/// Chooses the `serverID` of this server, or says why a configuration cannot be put into force.
pub type ServerIdFactory = dyn Fn(&GlobalConfig) -> Result<u16, String> + Send + Sync;

/// What a directory is opened with.
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

/// Makes what a configuration names and the directory does not know of. Used whenever the configuration changes.
#[derive(Clone)]
pub struct Factories {
    /// Makes overlays, anew when their settings or the schema have changed.
    pub overlays: Arc<OverlayFactory>,
    /// Makes the trees of cn=config and cn=Monitor, once each.
    pub trees: Arc<TreeFactory>,
    /// What the `rootDSE` files add.
    pub root_dse: Arc<RootDseFactory>,
    /// `serverID`.
    pub server_id: Arc<ServerIdFactory>,
}

impl Default for Factories {
    /// Neither overlays nor trees nor additions, and `serverID` 0.
    fn default() -> Self {
        Self {
            overlays: Arc::new(|_, _| Err("overlays are not served here".to_owned())),
            trees: Arc::new(|_| None),
            root_dse: Arc::new(|_| Ok(Vec::new())),
            server_id: Arc::new(|_| Ok(0)),
        }
    }
}

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBuild {
    /// Number of the database in the configuration.
    pub database: i32,
    /// How far it is.
    pub progress: IndexProgress,
}

/// The directory.
pub struct Directory {
    configuration: ArcSwap<Configuration>,
    clock: Clock,
    randomness: Randomness,
    stamps: StampGenerator,
    statistics: Statistics,
    hashing_pool: HashingPool,
    long_searches: LongSearches,
    bind_failures: BindFailures,
    factories: Factories,
    /// What runs for the configuration in force; whoever changes that holds it.
    live: Mutex<Live>,
    /// The thread of the trees in memory.
    trees: WriterHandle,
    trees_thread: Mutex<Option<JoinHandle<()>>>,
    bare: OnceLock<BareAnswer>,
}

impl Directory {
    /// Opens all databases and starts their writers.
    ///
    /// # Errors
    /// A database that cannot be opened, or an overlay that cannot be made, by name.
    pub fn open(options: OpenOptions) -> Result<Arc<Self>, OpenError> {
        let failed = |error: std::io::Error| OpenError::Configuration(error.to_string());
        let (trees, orders) = writer::queue();
        let directory = Arc::new(Self {
            configuration: ArcSwap::from_pointee(reconfigure::without_databases(&options.configuration)?),
            clock: options.clock,
            randomness: options.randomness,
            stamps: StampGenerator::new(0),
            statistics: Statistics::default(),
            hashing_pool: HashingPool::new(),
            long_searches: LongSearches::new(),
            bind_failures: BindFailures::default(),
            factories: options.factories,
            live: Mutex::default(),
            trees,
            trees_thread: Mutex::default(),
            bare: OnceLock::new(),
        });
        let for_thread = Arc::clone(&directory);
        let thread = spawn_named("config", move || writer::run_trees(&for_thread, &orders)).map_err(failed)?;
        *directory.trees_thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        let opened = directory.reconfigure(options.configuration).and_then(|()| {
            let answer = if options.bare {
                bare_answer(&directory.configuration())?
            } else {
                None
            };
            if let Some(answer) = answer {
                // Nobody else sets it.
                let _ = directory.bare.set(answer);
            }
            Ok(())
        });
        if let Err(error) = opened {
            directory.close();
            return Err(error);
        }
        Ok(directory)
    }

    /// Puts another configuration into force, while serving. Everything new is made first: when something of it cannot be had, nothing
    /// changes. Operations that have begun end under the configuration that they began with, writes that wait in a queue included; a write
    /// that comes to its queue too late for that is executed under the new one. A database whose directory stays the same goes on as it is; one that is new is opened; one that is
    /// gone has answered its last write when this returns, and is closed when nothing reads it any more.
    ///
    /// # Errors
    /// What cannot be had, by name; a schema that lacks what entries use.
    pub fn reconfigure(self: &Arc<Self>, configuration: ironbark_config::Configuration) -> Result<(), OpenError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        reconfigure::reconfigure(self, &mut live, configuration)
    }

    /// Lets the database with this number refuse these operations, and no others, until the server ends or a configuration says something
    /// else about them than the one in force. A database that refuses all writes is read-only.
    ///
    /// # Errors
    /// The server ends.
    pub fn restrict(self: &Arc<Self>, number: i32, refused: Restrict) -> Result<(), OpenError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        reconfigure::restrict(self, &mut live, number, refused)
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

    /// The configuration in force.
    pub fn configuration(&self) -> Arc<Configuration> {
        self.configuration.load_full()
    }

    /// Whether some database is bigger than memory, so that reading it usually waits for the disk.
    pub fn waits_for_disk(&self) -> bool {
        let configuration = self.configuration();
        let mut databases = configuration.contexts.iter().filter_map(|context| context.database());
        databases.any(|database| !database.reads_ahead())
    }

    /// Brings what a reactor holds of the configuration up to date; whether it was not. While nothing changes, no counter that reactors
    /// share is touched.
    #[expect(
        clippy::redundant_allocation,
        reason = "requests count on the reactor's own counter, not on the shared one"
    )]
    pub(crate) fn refresh(&self, held: &mut Rc<Arc<Configuration>>) -> bool {
        let current = self.configuration.load();
        if Arc::ptr_eq(&current, held) {
            return false;
        }
        *held = Rc::new(Arc::clone(&current));
        true
    }

    /// The answer to every search, for benchmarks.
    pub(crate) fn bare(&self) -> Option<&BareAnswer> {
        self.bare.get()
    }

    pub(crate) fn factories(&self) -> &Factories {
        &self.factories
    }

    /// The queue of the thread that changes trees in memory.
    pub(crate) fn trees(&self) -> &WriterHandle {
        &self.trees
    }

    /// Puts a configuration into force.
    pub(crate) fn swap(&self, configuration: Arc<Configuration>, server_id: u16) {
        self.stamps.set_server_id(server_id);
        self.configuration.store(configuration);
    }

    /// The counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Randomness.
    pub fn randomness(&self) -> &Randomness {
        &self.randomness
    }

    /// `slowlog` in microseconds.
    pub(crate) fn slow_micros(&self) -> Option<u64> {
        self.configuration.load().slow_micros()
    }

    /// Monotonic time in microseconds.
    pub(crate) fn monotonic_micros(&self) -> u64 {
        self.clock.monotonic().nanos() / 1_000
    }

    pub(crate) fn next_stamp(&self) -> Stamp {
        self.stamps.next(&self.clock)
    }

    /// Binds that have failed, by address.
    pub fn bind_failures(&self) -> &BindFailures {
        &self.bind_failures
    }

    pub(crate) fn long_searches(&self) -> &LongSearches {
        &self.long_searches
    }

    pub(crate) fn hashing_pool(&self) -> &HashingPool {
        &self.hashing_pool
    }

    /// Tells the writers to end after what they have been given: a further write is answered with `unavailable`.
    pub fn refuse_writes(&self) {
        self.trees.close(SHUTTING_DOWN);
        for context in &self.configuration().contexts {
            if let Backend::Stored { writer, .. } = &context.backend {
                writer.close(SHUTTING_DOWN);
            }
        }
    }

    /// Whether each writer goes on. One that has ended by itself leaves writes without an answer.
    pub fn has_all_writers(&self) -> bool {
        let trees = self.trees_thread.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = trees.as_ref().is_some_and(JoinHandle::is_finished);
        // A configuration that is being changed is no reason to wait.
        let live = self.live.try_lock();
        !has_ended && live.map_or(true, |live| live.has_all_writers())
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
        self.live.lock().unwrap_or_else(PoisonError::into_inner).close();
    }
}

fn bare_answer(configuration: &Configuration) -> Result<Option<BareAnswer>, OpenError> {
    BareAnswer::new(configuration).map_err(|error| OpenError::Configuration(error.diagnostic_message.into_owned()))
}
