//! The life of the daemon, from the command line to `slapd stopped.`

use std::{
    error::Error,
    io,
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use ironbark_directory::Directory;
use ironbark_runtime::{
    Clock, Signal, Signals, available_cores,
    process::{self, Identity, Readiness, StateFile},
};
use tokio::runtime::Runtime;

use crate::{
    VERSION,
    listener::{Listeners, url::ListenerUrl},
    log::{FileFormat, FileOptions, Log, LogOptions, SyslogOptions, level},
    monitor::{Facts, Monitor},
    options::{DEFAULT_CONFIG_FILE, ServeOptions},
    pool::Pool,
};

/// Serves until a signal ends the server. The order is slapd's:
///
/// 1. listeners are opened, with the privileges of the caller;
/// 2. `-r` and `-u`, `-g` are obeyed;
/// 3. the configuration is read, so that its paths are those inside the chroot;
/// 4. the process detaches, unless `-d` was given (no thread may exist before);
/// 5. `pidfile` and `argsfile` are written, the log's thread is started, databases are opened, reactors are started;
/// 6. the caller is told: exit status 0 means that the server listens, 1 that it does not, and stderr says why.
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

/// What is ready before there are threads.
struct Prepared {
    listeners: Listeners,
    config: ironbark_config::Configuration,
    max_descriptors: u64,
}

impl Prepared {
    fn new(options: &ServeOptions, log: &Log) -> Result<Self, Failure> {
        // A system that keeps the old limit serves fewer connections, but serves.
        let max_descriptors = process::raise_open_files_limit().map_or(0, |limit| limit.now);
        let urls = ListenerUrl::parse_list(options.urls.as_deref())?;
        let listeners = Listeners::open(&urls, options.family)?;
        // Both are out of reach in a chroot.
        let identity = Identity::look_up(options.user.as_deref(), options.group.as_deref())?;
        log.connect_syslog();
        if let Some(directory) = &options.chroot {
            process::enter_chroot(directory)
                .map_err(|error| format!("cannot change root to {}: {error}", directory.display()))?;
        }
        identity.assume()?;
        let path = options.config_file.as_deref().unwrap_or(Path::new(DEFAULT_CONFIG_FILE));
        let config = ironbark_config::Configuration::read(path)?;
        for notice in &config.notices {
            tracing::info!(target: "config", "{notice}");
        }
        configure_log(log, options, &config.global);
        Ok(Self { listeners, config, max_descriptors })
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
                if let Err(error) = readiness.ready() {
                    tracing::error!(target: "any", "cannot detach: {error}");
                }
                running.until_stopped();
                ExitCode::SUCCESS
            }
            Err(error) => {
                let message = error.to_string();
                tracing::error!(target: "any", "{message}");
                if is_detached {
                    readiness.failed(&format!("slapd: {message}"));
                    ExitCode::FAILURE
                } else {
                    complain(Some(log), &message)
                }
            }
        }
    }
}

/// The server as it serves.
struct Running {
    runtime: Runtime,
    signals: Signals,
    listeners: Listeners,
    pool: Arc<Pool>,
    directory: Arc<Directory>,
    /// Removed when the server has ended.
    _state_files: Vec<StateFile>,
}

impl Running {
    fn start(prepared: Prepared, options: &ServeOptions, log: &Log, clock: &Clock) -> Result<Self, Failure> {
        let Prepared { listeners, config, max_descriptors } = prepared;
        let state_files = state_files(&config.global, options)?;
        log.start_writer().map_err(|error| format!("cannot start the log: {error}"))?;
        log_panics();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        // From here on a signal waits until the server can end cleanly.
        let signals = runtime.block_on(async { Signals::install() })?;
        let cores = available_cores();
        let reactors = config.global.threads.map_or(cores, |most| cores.min(usize::try_from(most).unwrap_or(cores)));
        let shows_monitor = config.has_monitor();
        let directory = Directory::open(config, clock.clone())?;
        let pool = Arc::new(Pool::start(reactors, &directory, clock)?);
        if shows_monitor {
            let facts = Facts {
                listeners: listeners.listeners.iter().map(|one| (Arc::clone(&one.name), Arc::clone(&one.url))).collect(),
                max_descriptors,
                overlays: ironbark_overlays::names().map(str::to_owned).collect(),
            };
            let schema = Arc::clone(&directory.configuration().schema);
            let (pool, log, clock) = (Arc::clone(&pool), log.clone(), clock.clone());
            directory.register_virtual(Arc::new(Monitor::new(&schema, &directory, pool, log, clock, facts)?));
        }
        Ok(Self { runtime, signals, listeners, pool, directory, _state_files: state_files })
    }

    /// Serves until a signal says stop, and ends cleanly.
    fn until_stopped(self) {
        let Self { runtime, signals, listeners, pool, directory, _state_files } = self;
        if let Err(error) = runtime.block_on(accept_until_stopped(&pool, listeners, &directory, signals)) {
            tracing::error!(target: "any", "daemon: {error}");
        }
        tracing::info!(target: "any", "slapd shutdown: waiting for {} operations/tasks to finish", pool.under_way());
        pool.shut_down();
        directory.close();
    }
}

/// Accepts connections until a signal ends the server; `listeners` are closed on return.
async fn accept_until_stopped(
    pool: &Arc<Pool>,
    listeners: Listeners,
    directory: &Directory,
    mut signals: Signals,
) -> io::Result<()> {
    let mut accepting = pool.accept(&listeners.listeners)?;
    let is_gentle =
        signals.next().await == Signal::Hangup && directory.configuration().settings.gentle_hup;
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
    }
}
