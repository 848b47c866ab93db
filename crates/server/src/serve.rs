//! The life of the daemon, from the command line to `slapd stopped.`

use std::{
    convert::Infallible, error::Error, io, net::SocketAddr, path::Path, process::ExitCode, sync::Arc, time::Duration,
};

use ironbark_config::{
    DatabaseConfig,
    kinds::{CONFIG, MONITOR},
    parts::PartKind,
};
use ironbark_directory::{Factories, InMemoryTree, OpenOptions, Service, SyncCookie};
use ironbark_model::schema::Source;
use ironbark_replication::StrictRefreshes;
use ironbark_runtime::{
    Clock, HeldSignals, Randomness, Signal, Signals, Supervisor, SupervisorSettings, available_cores,
    process::{self, ProcessIdentity, Readiness, StateFile},
};
use ironbark_store::{
    fault::{self, Maps},
    spare,
};
use tokio::runtime::Runtime;

use crate::{
    VERSION,
    configuration::{ConfigTree, Loaded, ServerSettings, SourceError, claim_configuration},
    failed_parts::FailedParts,
    listener::{Inherited, Listener, Listeners, url::ListenerUrl},
    log::{Log, LogOptions, SyslogOptions, level},
    metrics::{self, Metrics},
    monitor::{Attached, Facts, Monitor, RunningServer},
    options::ServeOptions,
    pool::Pool,
    reactor::World,
    replication::Replication,
    roll_call::tell,
    root_dse,
    server_id::OwnUrls,
    tls::{Completeness, Tls},
    tools::Tools,
};

/// Serves until a signal ends the server. The order is slapd's:
///
/// 1. listeners are opened, with the privileges of the caller;
/// 2. the process detaches, unless `-d` was given (no thread may exist before);
/// 3. `-r`, `-u` and `-g` are carried out;
/// 4. the configuration is read, so that its paths are those inside the chroot;
/// 5. the log's thread is started, databases are opened, reactors are started;
/// 6. `pidfile` and `argsfile` are written, because a start that fails must not take them from a server that runs;
/// 7. the caller is told: exit status 0 means that the server listens. 1 means that it does not, and stderr has the
///    reason.
pub fn serve(options: &ServeOptions) -> ExitCode {
    let clock = Clock::system();
    let log = match Log::install(log_options(options), clock.clone()) {
        Ok(log) => log,
        Err(error) => return complain(None, &format!("cannot start the log: {error}")),
    };
    tracing::info!(target: "any", "{VERSION}");
    let code = match Prepared::new(options, &log) {
        Ok(prepared) => prepared.run(options, &log, &clock),
        Err(error) => complain(Some(&log), &error.to_string()),
    };
    tracing::info!(target: "any", "slapd stopped.");
    log.close();
    code
}

type Failure = Box<dyn Error>;

/// The parts that need the privileges and the file system of the caller.
struct Prepared {
    listeners: Listeners,
    identity: ProcessIdentity,
    max_descriptors: u64,
    supervisor: Supervisor,
    /// In the foreground. The caller of a daemon may end while it waits.
    held: Option<HeldSignals>,
}

impl Prepared {
    fn new(options: &ServeOptions, log: &Log) -> Result<Self, Failure> {
        // Lowering a limit is always allowed.
        let _ = process::forbid_core_files();
        // A system that keeps the old limit serves fewer connections, but it works.
        let max_descriptors = process::raise_open_files_limit().map_or(0, |limit| limit.now);
        // The port answers before the server runs, and it may be ended then.
        let held = options.debug.map(|_| HeldSignals::hold()).transpose()?;
        let urls = ListenerUrl::parse_list(options.urls.as_deref())?;
        let listeners = Listeners::open(&urls, options.family, Inherited::take())?;
        let identity = ProcessIdentity::look_up(options.user.as_deref(), options.group.as_deref())?;
        log.connect_syslog();
        Ok(Self {
            listeners,
            identity,
            max_descriptors,
            supervisor: connect_supervisor(),
            held,
        })
    }

    fn run(self, options: &ServeOptions, log: &Log, clock: &Clock) -> ExitCode {
        let readiness = if options.debug.is_some() {
            Readiness::foreground()
        } else {
            match process::detach() {
                Ok(readiness) => readiness,
                Err(error) => return complain(Some(log), &error.to_string()),
            }
        };
        let is_detached = readiness.is_detached();
        match Running::start(self, options, log, clock) {
            Ok(running) => {
                tracing::info!(target: "any", "slapd starting");
                if options.is_watched {
                    let mut urls: Vec<&str> = running.listeners.listeners.iter().map(|one| &*one.url).collect();
                    // A URL without a host has a listener for each version of IP.
                    urls.dedup();
                    tracing::info!(target: "any", "listening on {}; Ctrl-C ends it", urls.join(" "));
                }
                if let Err(error) = readiness.ready() {
                    tracing::error!(target: "any", "cannot detach: {error}");
                }
                tell(running.supervisor.ready());
                running.until_stopped(clock);
                ExitCode::SUCCESS
            }
            Err(error) if is_detached => {
                tracing::error!(target: "any", "{error}");
                readiness.failed(&format!("slapd: {error}"));
                ExitCode::FAILURE
            }
            Err(error) => complain(Some(log), &error.to_string()),
        }
    }
}

/// The running server.
struct Running {
    runtime: Runtime,
    signals: Signals,
    listeners: Listeners,
    pool: Arc<Pool>,
    directory: Arc<Service>,
    settings: ServerSettings,
    supervisor: Supervisor,
    tools: Tools,
    /// Removed when the server has ended.
    state_files: Vec<StateFile>,
}

impl Running {
    fn start(prepared: Prepared, options: &ServeOptions, log: &Log, clock: &Clock) -> Result<Self, Failure> {
        let Prepared {
            listeners,
            identity,
            max_descriptors,
            supervisor,
            held,
        } = prepared;
        // From here on a signal waits until the server can end cleanly.
        let held = held.map_or_else(HeldSignals::hold, Ok)?;
        // It is out of reach inside a chroot.
        let maps = Maps::open();
        give_up_privileges(&identity, options)?;
        let mut loaded = claim_configuration(options.config_file.as_deref(), options.config_directory.as_deref())?;
        // Before it is kept, it is known where it came from.
        let completeness = completeness(&loaded);
        loaded.keep()?;
        check_place(&loaded)?;
        let settings = ServerSettings::new(log);
        settings.begin(&mut loaded.configuration.global, completeness)?;
        let global = &loaded.configuration.global;
        let warn = |notice| tracing::warn!(target: "any", "{notice}");
        loaded.configuration.notices.iter().for_each(warn);
        let (pid_file, arguments_file) = (global.pid_file.clone(), global.args_file.clone());
        log.start_writer()
            .map_err(|error| format!("cannot start the log: {error}"))?;
        let failed = FailedParts::default();
        expect_the_worst(log, maps, failed.clone())?;
        let runtime = main_runtime()?;
        let signals = runtime.block_on(async { held.install() })?;
        let (threads, metrics_listener) = (global.threads, global.metrics_listener);
        if options.bare {
            tracing::warn!(target: "any", "every search is answered with one entry that anonymous may read: a limit for benchmarks");
        }
        let own_urls = OwnUrls::new(listeners.listeners.iter().map(|one| Arc::clone(&one.url)).collect());
        let config_tree = Arc::new(ConfigTree::new(&loaded, settings.clone()));
        let (directory, attached) = open_directory(
            loaded.configuration,
            config_tree,
            own_urls,
            options.bare,
            facts(&listeners, max_descriptors),
            log,
            clock,
        )?;
        let reactors = reactor_count(threads, directory.waits_for_disk());
        let strict = StrictRefreshes::default();
        let world = World {
            directory: Arc::clone(&directory),
            clock: clock.clone(),
            tls: Arc::clone(&settings.tls),
            sources: Arc::default(),
            suspended: strict.watch(),
            log: log.clone(),
        };
        let pool = Arc::new(Pool::start(reactors, &world, max_descriptors)?);
        let tools = Tools::listen(&directory.configuration());
        let mut running = Self {
            runtime,
            signals,
            listeners,
            pool,
            directory,
            settings,
            supervisor,
            tools,
            state_files: Vec::new(),
        };
        let replication = running.follow_others(&attached, options.cookies.clone(), strict);
        running.show_metrics(metrics_listener, clock, max_descriptors, replication, log, failed)?;
        running.state_files = state_files(pid_file.as_deref(), arguments_file.as_deref(), options)?;
        Ok(running)
    }

    /// Starts the consumers, and lets cn=Monitor show what runs.
    fn follow_others(
        &self,
        attached: &Attached,
        cookies: Vec<SyncCookie>,
        strict: StrictRefreshes,
    ) -> Arc<Replication> {
        let replication = Replication::new(Arc::clone(&self.directory), cookies, strict);
        // Only this line sets it.
        let _ = attached.set(RunningServer {
            directory: Arc::downgrade(&self.directory),
            pool: Arc::clone(&self.pool),
            replication: Arc::clone(&replication),
        });
        let replication = self.settings.replication.get_or_init(|| replication);
        replication.configure();
        Arc::clone(replication)
    }

    fn show_metrics(
        &self,
        listener: Option<SocketAddr>,
        clock: &Clock,
        max_descriptors: u64,
        replication: Arc<Replication>,
        log: &Log,
        failed: FailedParts,
    ) -> Result<(), Failure> {
        let (shown, its_pool) = (Arc::clone(&self.directory), Arc::clone(&self.pool));
        let source = metrics::Source::new(
            shown,
            its_pool,
            clock.now(),
            max_descriptors,
            replication,
            log.clone(),
            failed,
        );
        let metrics = self.settings.metrics.get_or_init(|| Metrics::new(source));
        let prepared = metrics.prepare(listener);
        prepared.map_err(|error| format!("metrics-listener: {error}"))?.commit();
        Ok(())
    }

    /// Serves until a signal stops it, and ends cleanly.
    fn until_stopped(self, clock: &Clock) {
        let Self {
            runtime,
            signals,
            listeners,
            pool,
            directory,
            settings,
            supervisor,
            tools,
            state_files,
        } = self;
        let metrics = settings.metrics.get();
        let reload = || {
            tell(supervisor.reloading(clock.monotonic()));
            settings.reload();
            tell(supervisor.ready());
        };
        let serving = async {
            tokio::select! {
                ended = accept_until_stopped(&pool, listeners, &directory, metrics, signals, reload) => ended,
                () = tools.accept(&directory) => Ok(()),
                never = pool.roll().keep_alive(&supervisor) => match never {},
                never = renew_certificates(&settings.tls) => match never {},
            }
        };
        if let Err(error) = runtime.block_on(serving) {
            tracing::error!(target: "any", "daemon: {error}");
        }
        tell(supervisor.stopping());
        settings
            .replication
            .get()
            .into_iter()
            .for_each(|replication| replication.close());
        tracing::info!(target: "any", "slapd shutdown: waiting for {} operations/tasks to finish", pool.under_way());
        pool.shut_down();
        tools.close();
        directory.close();
        metrics.into_iter().for_each(Metrics::close);
        drop(state_files);
    }
}

/// Before the root directory changes: the socket may be out of reach then. The variable may be left over from another
/// service, so a supervisor that is not there is no reason not to serve.
fn connect_supervisor() -> Supervisor {
    Supervisor::connect(&SupervisorSettings::from_environment()).unwrap_or_else(|error| {
        tracing::warn!(target: "any", "daemon: no connection to the supervisor: {error}");
        Supervisor::default()
    })
}

/// Steps of clients may have left TLS incomplete in a directory. A file is written as a whole.
pub(crate) fn completeness(loaded: &Loaded) -> Completeness {
    match loaded.stored {
        Some(_) => Completeness::AsLeft,
        None => Completeness::Required,
    }
}

/// Changes of a cluster's cn=config must be kept: the next start would otherwise serve under settings of long ago.
pub(crate) fn check_place(loaded: &Loaded) -> Result<(), SourceError> {
    let config = &loaded.configuration.config;
    if config.cluster.is_none() || loaded.folder.is_some() {
        return Ok(());
    }
    let Source { file, line } = &config.location;
    Err(SourceError::ClusterWithoutFolder {
        file: Arc::clone(file),
        line: *line,
    })
}

/// Checks every few seconds whether certificates or keys have been replaced.
async fn renew_certificates(tls: &Tls) -> Infallible {
    loop {
        tokio::time::sleep(RENEWAL_PERIOD).await;
        tls.renew();
    }
}

/// The time after which a replaced certificate is noticed.
const RENEWAL_PERIOD: Duration = Duration::from_secs(2);

/// Accepts connections until a signal ends the server; `listeners` are closed on return.
async fn accept_until_stopped(
    pool: &Arc<Pool>,
    listeners: Listeners,
    directory: &Service,
    metrics: Option<&Metrics>,
    mut signals: Signals,
    reload: impl Fn(),
) -> io::Result<()> {
    let mut accepting = pool.accept(&listeners.listeners).await?;
    let is_gentle = loop {
        match signals.next().await {
            Signal::Hangup => {
                let configuration = directory.configuration();
                if !configuration.settings.reloads_on_hangup {
                    break configuration.settings.gentle_hup;
                }
                reload();
            }
            Signal::Terminate | Signal::Interrupt => break false,
        }
    };
    metrics.into_iter().for_each(Metrics::set_ending);
    if !is_gentle {
        tracing::info!(target: "any", "daemon: shutdown requested and initiated.");
        accepting.shutdown().await;
        return Ok(());
    }
    tracing::info!(target: "any", "slapd gentle shutdown");
    accepting.shutdown().await;
    drop(listeners);
    directory.refuse_writes();
    loop {
        tokio::select! {
            signal = signals.next() => if signal != Signal::Hangup {
                tracing::info!(target: "any", "daemon: shutdown requested and initiated.");
                return Ok(());
            },
            () = pool.emptied() => {
                tracing::info!(target: "any", "daemon: no active streams, shutdown initiated.");
                return Ok(());
            }
        }
    }
}

/// What cn=Monitor shows of the start.
fn facts(listeners: &Listeners, max_descriptors: u64) -> Facts {
    let names = |one: &Listener| (Arc::clone(&one.name), Arc::clone(&one.url));
    Facts {
        listeners: listeners.listeners.iter().map(names).collect(),
        max_descriptors,
        overlays: built_in_overlays(),
    }
}

/// Opens the databases. The second part of the result takes the reactors that cn=Monitor shows, once they run.
fn open_directory(
    configuration: ironbark_config::LoadedConfiguration,
    config_tree: Arc<ConfigTree>,
    own_urls: OwnUrls,
    bare: bool,
    facts: Facts,
    log: &Log,
    clock: &Clock,
) -> Result<(Arc<Service>, Arc<Attached>), Failure> {
    let attached = Arc::<Attached>::default();
    let its_urls = own_urls.clone();
    let (its_log, its_clock, its_server) = (log.clone(), clock.clone(), Arc::clone(&attached));
    let make_tree = move |settings: &DatabaseConfig| -> Option<Arc<dyn InMemoryTree>> {
        if settings.kind == &CONFIG {
            return Some(Arc::<ConfigTree>::clone(&config_tree));
        }
        let suffix = settings.suffixes.first().filter(|_| settings.kind == &MONITOR)?;
        Some(Arc::new(Monitor::new(
            suffix.clone(),
            its_log.clone(),
            its_clock.clone(),
            facts.clone(),
            Arc::clone(&its_server),
        )))
    };
    let directory = Service::open(OpenOptions {
        configuration,
        clock: clock.clone(),
        randomness: Randomness::system(),
        factories: Factories {
            overlays: Arc::new(ironbark_overlays::make),
            external: Arc::new(ironbark_backends::make),
            trees: Arc::new(make_tree),
            root_dse: Arc::new(|global| root_dse::read(&global.root_dse_files)),
            server_id: Arc::new(move |global, current| own_urls.choose(global, current)),
            own_url: Arc::new(move |url| its_urls.contain(url)),
        },
        bare,
    })?;
    Ok((directory, attached))
}

fn log_options(options: &ServeOptions) -> LogOptions {
    let syslog = SyslogOptions::default();
    LogOptions {
        debug: options.debug.unwrap_or(0),
        syslog_levels: options.syslog_levels.unwrap_or(level::STATS),
        syslog: SyslogOptions {
            name: options.name.clone().unwrap_or(syslog.name),
            facility: options.syslog_facility.unwrap_or(syslog.facility),
            severity: options.syslog_severity.unwrap_or(syslog.severity),
            socket: syslog.socket,
        },
        has_plain_time: options.is_watched,
    }
}

/// Carries out `-r`, `-u` and `-g`.
fn give_up_privileges(identity: &ProcessIdentity, options: &ServeOptions) -> Result<(), Failure> {
    if let Some(directory) = &options.chroot {
        process::enter_chroot(directory)
            .map_err(|error| format!("cannot change root to {}: {error}", directory.display()))?;
    }
    identity.assume()?;
    Ok(())
}

/// Writes `pidfile` and `argsfile`. Those of another server that runs are left alone.
fn state_files(
    pid: Option<&Path>,
    arguments: Option<&Path>,
    options: &ServeOptions,
) -> Result<Vec<StateFile>, Failure> {
    let mut files = Vec::new();
    if let Some(path) = pid {
        let file = StateFile::pid(path);
        let file = file.map_err(|error| format!("unable to open pid file {}: {error}", path.display()))?;
        files.extend(file.or_else(|| is_of_another("pidfile", path)));
    }
    if let Some(path) = arguments {
        let file = StateFile::arguments(path, options.arguments.iter().cloned());
        let file = file.map_err(|error| format!("unable to open args file {}: {error}", path.display()))?;
        files.extend(file.or_else(|| is_of_another("argsfile", path)));
    }
    Ok(files)
}

/// Logs that a file is left alone.
fn is_of_another(setting: &str, path: &Path) -> Option<StateFile> {
    let path = path.display();
    tracing::warn!(
        target: "any",
        "{setting} {path} is that of another server, which runs: it stays as it is; give this one another {setting}"
    );
    None
}

/// stderr of a daemon is /dev/null, so the message of a panic must go to the log.
/// The lines so far come first, as the process may end.
fn log_panics(log: Log, failed: FailedParts) {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!(target: "any", "internal error: {panic}");
        if let Some(missing) = failed.note(std::thread::current().name()) {
            tracing::error!(target: "any", "until the server is started anew, {missing}");
        }
        log.flush();
        print(panic);
    }));
}

/// The runtime that the main thread waits in.
fn main_runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
}

/// Logs panics and memory faults, and keeps some memory in reserve.
fn expect_the_worst(log: &Log, maps: Maps, failed: FailedParts) -> io::Result<()> {
    log_panics(log.clone(), failed);
    spare::keep();
    log_faults(log, maps)
}

/// Logs why the process ends if a data file is cut off while it is mapped.
fn log_faults(log: &Log, maps: Maps) -> io::Result<()> {
    let log = log.clone();
    fault::watch(maps, move |text| {
        complain(Some(&log), text);
        log.close();
    })
}

/// Reports why there is no server, on stderr even if nothing is logged there.
fn complain(log: Option<&Log>, message: &str) -> ExitCode {
    tracing::error!(target: "any", "{message}");
    if !log.is_some_and(Log::shows_stderr) {
        eprintln!("slapd: {message}");
    }
    ExitCode::FAILURE
}

/// The overlays that are built in.
pub fn built_in_overlays() -> Vec<String> {
    let is_built = |kind| matches!(kind, PartKind::Overlay | PartKind::BuiltIn(_));
    ironbark_overlays::registry()
        .parts()
        .iter()
        .filter(|part| is_built(part.kind))
        .map(|part| part.name.to_owned())
        .collect()
}

/// One reactor for each core, or `threads` if that is less. A reactor that reads data from disk waits, and its
/// connections wait with it. Where this is usual, there are as many reactors as slapd has threads.
fn reactor_count(threads: Option<u32>, waits_for_disk: bool) -> usize {
    const SLAPD_THREADS: usize = 16;
    let asked = threads.map(|threads| usize::try_from(threads).unwrap_or(usize::MAX));
    let cores = available_cores();
    match (asked, waits_for_disk) {
        (Some(asked), true) => asked,
        (None, true) => SLAPD_THREADS.max(cores),
        (Some(asked), false) => asked.min(cores),
        (None, false) => cores,
    }
}
