//! The directory: databases, writers, configuration in force, counters. Shared by all reactors.

use std::{
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use ironbark_config::{DatabaseConfig, DatabaseKind, EnvironmentFlags};
use ironbark_ldap_proto::DecodeLimits;
use ironbark_model::{Dn, Schema};
use ironbark_runtime::{Clock, Randomness, spawn_named};
use ironbark_store::Database;

use crate::{
    Configuration, Context,
    bare::BareAnswer,
    context::{Backend, ReferralPresence, VirtualContext},
    dse,
    error::OpenError,
    hashing_pool::HashingPool,
    open,
    overlay::{Overlay, Pipeline},
    password,
    stamp::{Stamp, StampGenerator},
    statistics::Statistics,
    well_known::WellKnown,
    writer,
};

// The configuration refuses a depth that decoding would not obey.
const _: () = assert!(ironbark_config::MAX_FILTER_DEPTH as usize == DecodeLimits::MAX_FILTER_DEPTH);

/// Makes the overlays of a database from its configuration.
pub type OverlayFactory<'a> =
    dyn Fn(&ironbark_config::OverlayConfig, &Arc<Schema>) -> Result<Arc<dyn Overlay>, String> + 'a;

/// Makes the tree of a `database monitor`.
pub type MonitorFactory<'a> = dyn Fn(&DatabaseConfig) -> Option<Arc<dyn VirtualContext>> + 'a;

/// What a directory is opened with.
pub struct OpenOptions<'a> {
    /// Everything that was configured.
    pub configuration: ironbark_config::Configuration,
    /// Time.
    pub clock: Clock,
    /// Randomness.
    pub randomness: Randomness,
    /// Makes overlays.
    pub overlays: &'a OverlayFactory<'a>,
    /// Makes cn=Monitor.
    pub monitor: &'a MonitorFactory<'a>,
    /// `serverID` of this server.
    pub server_id: u16,
    /// Whether searches are answered barely, as a limit for benchmarks.
    pub bare: bool,
    /// What the `rootDSE` files add to the root DSE: attribute descriptions and values.
    pub root_dse: Vec<(String, Vec<Vec<u8>>)>,
}

/// The directory.
pub struct Directory {
    configuration: ArcSwap<Configuration>,
    clock: Clock,
    randomness: Randomness,
    stamps: StampGenerator,
    statistics: Statistics,
    hashing_pool: HashingPool,
    databases: Vec<Arc<Database>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
    bare: Option<BareAnswer>,
}

impl Directory {
    /// Opens all databases and starts their writers.
    ///
    /// # Errors
    /// A database that cannot be opened, or an overlay that cannot be made, by name.
    pub fn open(options: OpenOptions<'_>) -> Result<Arc<Self>, OpenError> {
        let schema = Arc::clone(&options.configuration.schema);
        let mut contexts = Vec::new();
        let mut queues = Vec::new();
        for (index, settings) in options.configuration.databases.iter().enumerate() {
            if settings.disabled {
                continue;
            }
            let backend = match settings.kind {
                DatabaseKind::Mdb => {
                    let database = Arc::new(open::database(settings, &schema)?);
                    let (writer, jobs) = writer::channel();
                    // A checkpoint is for databases whose commits are not flushed.
                    let checkpoint = settings
                        .mdb
                        .checkpoint
                        .filter(|_| settings.mdb.flags.contains(EnvironmentFlags::NO_SYNC));
                    queues.push((Arc::clone(&database), jobs, index + 1, checkpoint));
                    Backend::Stored {
                        database,
                        writer,
                        referrals: ReferralPresence::default(),
                    }
                }
                DatabaseKind::Monitor | DatabaseKind::Config | DatabaseKind::Frontend => {
                    match (options.monitor)(settings) {
                        Some(tree) => Backend::Virtual(tree),
                        None => continue,
                    }
                }
            };
            contexts.push(Arc::new(Context {
                number: index + 1,
                settings: settings.clone(),
                overlays: pipeline(&options, settings, &schema)?,
                backend,
            }));
        }
        let databases = queues.iter().map(|(database, ..)| Arc::clone(database)).collect();
        let configuration = configuration(options.configuration, contexts, &options.root_dse)?;
        let bare = if options.bare {
            bare_answer(&configuration)?
        } else {
            None
        };
        let directory = Arc::new(Self {
            bare,
            configuration: ArcSwap::from_pointee(configuration),
            clock: options.clock,
            randomness: options.randomness,
            stamps: StampGenerator::new(options.server_id),
            statistics: Statistics::default(),
            hashing_pool: HashingPool::start().map_err(|error| OpenError::Configuration(error.to_string()))?,
            databases,
            writers: Mutex::new(Vec::new()),
        });
        let mut writers = directory.writers.lock().unwrap_or_else(PoisonError::into_inner);
        for (database, jobs, number, checkpoint) in queues {
            let for_writer = Arc::clone(&directory);
            let writer = spawn_named(&format!("writer-{number}"), move || {
                writer::run(&for_writer, &database, &jobs, checkpoint);
            })
            .map_err(|error| OpenError::Configuration(format!("starting a writer: {error}")))?;
            writers.push(writer);
        }
        drop(writers);
        Ok(directory)
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
        self.bare.as_ref()
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

    pub(crate) fn hashing_pool(&self) -> &HashingPool {
        &self.hashing_pool
    }

    /// Tells the writers to end after what they have been given: a further write is answered with `unavailable`.
    pub fn refuse_writes(&self) {
        for context in &self.configuration().contexts {
            if let Backend::Stored { writer, .. } = &context.backend {
                writer.close();
            }
        }
    }

    /// Whether each writer goes on. One that has ended by itself leaves writes without an answer.
    pub fn has_all_writers(&self) -> bool {
        let writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        !writers.iter().any(JoinHandle::is_finished)
    }

    /// Waits until the writers have ended, and flushes to disk.
    pub fn close(&self) {
        self.refuse_writes();
        let configuration = self.configuration();
        for writer in self.writers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A writer that panicked has said so already.
            let _ = writer.join();
        }
        for context in &configuration.contexts {
            context.overlays.close();
        }
        for database in &self.databases {
            if let Err(error) = database.sync() {
                tracing::error!(target: "any", "flushing a database: {error}");
            }
        }
    }
}

fn bare_answer(configuration: &Configuration) -> Result<Option<BareAnswer>, OpenError> {
    BareAnswer::new(configuration).map_err(|error| OpenError::Configuration(error.diagnostic_message.into_owned()))
}

fn pipeline(options: &OpenOptions<'_>, settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Pipeline, OpenError> {
    let mut overlays = Vec::new();
    for overlay in &settings.overlays {
        let made = (options.overlays)(overlay, schema).map_err(|reason| {
            let place = &overlay.location;
            OpenError::Configuration(format!("{}: line {}: {reason}", place.file, place.line))
        })?;
        overlays.push(made);
    }
    Ok(Pipeline::new(overlays))
}

fn configuration(
    read: ironbark_config::Configuration,
    contexts: Vec<Arc<Context>>,
    root_dse: &[(String, Vec<Vec<u8>>)],
) -> Result<Configuration, OpenError> {
    let schema = read.schema;
    let well_known = WellKnown::of(&schema)
        .ok_or_else(|| OpenError::Configuration("the schema lacks the built-in definitions".to_owned()))?;
    let schema_dn = read.frontend.schema_dn.clone().unwrap_or_else(|| {
        // Parses with every schema: cn is built in.
        Dn::parse(&schema, b"cn=Subschema").unwrap_or_default()
    });
    let password_schemes: Vec<_> = read
        .global
        .password_hash
        .iter()
        .filter_map(|name| password::Scheme::from_name(name.trim_matches(['{', '}']).as_bytes()))
        .collect();
    let frontend = Context {
        number: 0,
        settings: read.frontend,
        overlays: Pipeline::default(),
        backend: Backend::Frontend,
    };
    let mut configuration = Configuration {
        decode_limits: DecodeLimits {
            filter_depth: usize::try_from(read.global.max_filter_depth).unwrap_or(usize::MAX),
            ..DecodeLimits::default()
        },
        well_known,
        settings: read.global,
        contexts,
        frontend: Arc::new(frontend),
        password_schemes,
        root_dse: Arc::default(),
        subschema: Arc::default(),
        schema,
    };
    configuration.subschema = Arc::new([dse::subschema(&configuration, schema_dn)]);
    configuration.root_dse = Arc::new([dse::root(&configuration, root_dse)?]);
    Ok(configuration)
}
