//! The log: `tracing` events whose target names one of slapd's log levels, to stderr (`-d`), syslog (`-s`, `loglevel`)
//! and a log file (`logfile`).
//!
//! One thread writes all three, with one call for many lines, so that a slow disk, a terminal that stands still or a
//! syslog daemon that hangs never stalls a reactor. The lines that wait for it are bounded (`queue.rs`); those that do
//! not fit, or that a target does not take, are counted, and the count is logged. Before the thread starts and after it
//! has ended, lines for stderr are written at once.
//!
//! A level that is not written anywhere costs one atomic load at the place of the event. The masks decide the cached
//! interest of every call site; after a change of a mask, all call sites ask again.

pub mod file;
mod json;
pub mod level;
mod line;
mod lines;
mod pending;
mod queue;
mod stderr;
mod subscriber;
mod syslog;
mod text;
mod writer;

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use ironbark_config::{GlobalConfig, LogLevel};
use ironbark_runtime::{Clock, process};
use tracing_subscriber::layer::SubscriberExt as _;

pub(crate) use self::queue::RoundLines;
pub use self::{
    file::FileOptions,
    level::LevelMask,
    syslog::{Facility, Severity, SyslogOptions},
};
use self::{
    file::LogFile,
    lines::Targets,
    queue::Queue,
    stderr::Stderr,
    subscriber::LevelLayer,
    syslog::Syslog,
    writer::{Outputs, Writer},
};

/// The control of the running log. A clone controls the same log.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

/// The log options of the command line.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// `-d`: what goes to stderr (and to `logfile`).
    pub debug: LevelMask,
    /// `-s`, before `loglevel` has been read: what goes to syslog.
    pub syslog_levels: LevelMask,
    /// The syslog daemon, and the identity for its messages.
    pub syslog: SyslogOptions,
    /// Whether lines on stderr have the time for people instead of slapd's.
    pub has_plain_time: bool,
}

struct Shared {
    /// `-d`.
    debug: AtomicU32,
    /// `loglevel` or `-s`.
    levels: AtomicU32,
    /// `-s`, for a configuration without `loglevel`.
    default_levels: LevelMask,
    /// `loglevel` of the configuration; cn=Monitor may have changed the levels afterwards.
    configured: Mutex<Option<LogLevel>>,
    /// `-n`: the server's name.
    name: String,
    /// `logfile-only`.
    file_only: AtomicBool,
    has_file: AtomicBool,
    has_plain_time: bool,
    /// Derived from the four above.
    to_stderr: AtomicU32,
    to_syslog: AtomicU32,
    to_file: AtomicU32,
    /// The connection that the log thread will get.
    syslog: Mutex<Option<Syslog>>,
    file: Mutex<Option<FileOptions>>,
    /// Lines that wait for the log thread.
    queue: Arc<Queue>,
    /// Started by [`Log::start_writer`], after the process has detached.
    writer: Mutex<Option<Writer>>,
}

/// The log settings of a configuration, prepared for use. If it is dropped, nothing changes.
#[must_use = "dropped, it changes nothing"]
pub struct PreparedLog<'l> {
    log: &'l Log,
    level: Option<LogLevel>,
    options: Option<FileOptions>,
    file: NextFile,
}

enum NextFile {
    /// The file stays.
    Same,
    /// Another file, open if the writer runs; or none.
    Other(Option<LogFile>),
}

impl PreparedLog<'_> {
    /// Puts the settings into force. Lines that were logged before go to the old file. `loglevel` overrides `-s`, as in
    /// slapd.
    pub fn commit(self) {
        let shared = &self.log.0;
        if let NextFile::Other(file) = self.file {
            if lock(&shared.writer).is_some() {
                shared.queue.replace_file(file);
            }
            self.log.set_file(self.options);
        }
        let before = std::mem::replace(&mut *lock(&shared.configured), self.level);
        if before != self.level {
            self.log
                .set_levels(self.level.map_or(shared.default_levels, |level| level.0));
        }
    }
}

impl std::fmt::Debug for PreparedLog<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedLog")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Installs the log as the process's only subscriber. Lines for syslog and the log file wait until
    /// [`Log::start_writer`].
    ///
    /// # Errors
    /// There is a subscriber already.
    pub fn install(options: LogOptions, clock: Clock) -> io::Result<Self> {
        let log = Self::new(options, clock);
        tracing::subscriber::set_global_default(log.subscriber()).map_err(io::Error::other)?;
        Ok(log)
    }

    fn new(options: LogOptions, clock: Clock) -> Self {
        let log = Self(Arc::new(Shared {
            debug: AtomicU32::new(options.debug),
            levels: AtomicU32::new(options.syslog_levels),
            default_levels: options.syslog_levels,
            configured: Mutex::new(None),
            name: options.syslog.name.clone(),
            file_only: AtomicBool::new(false),
            has_file: AtomicBool::new(false),
            has_plain_time: options.has_plain_time,
            to_stderr: AtomicU32::new(0),
            to_syslog: AtomicU32::new(0),
            to_file: AtomicU32::new(0),
            syslog: Mutex::new(Some(Syslog::new(options.syslog))),
            file: Mutex::new(None),
            queue: Arc::new(Queue::new(clock, Stderr::new(options.has_plain_time))),
            writer: Mutex::new(None),
        }));
        log.route();
        log
    }

    fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + use<> {
        tracing_subscriber::registry().with(LevelLayer::new(self.clone()))
    }

    /// Starts the thread that writes stderr, syslog and log file. Call it after the process has detached: a fork has no
    /// threads.
    ///
    /// # Errors
    /// The log file cannot be opened, or the thread cannot be started.
    pub fn start_writer(&self) -> io::Result<()> {
        let file = lock(&self.0.file).clone().map(LogFile::open).transpose()?;
        let outputs = Outputs {
            stderr: Stderr::new(self.0.has_plain_time),
            syslog: lock(&self.0.syslog).take(),
            file,
        };
        *lock(&self.0.writer) = Some(Writer::start(&self.0.queue, outputs)?);
        Ok(())
    }

    /// The calling thread hands its lines over at the end of each round from now on.
    pub(crate) fn round_lines(&self) -> RoundLines {
        RoundLines::begin(&self.0.queue)
    }

    /// Waits until the lines so far have been written, for a second at most.
    pub(crate) fn flush(&self) {
        self.0.queue.flush();
    }

    /// Lines that were lost since the start, because they did not fit or a target did not take them.
    pub(crate) fn lost(&self) -> u64 {
        self.0.queue.lost()
    }

    /// Opens the log file that a configuration names, if it is another file and the writer runs. Nothing is logged to
    /// it yet; a missing file is created, empty.
    ///
    /// # Errors
    /// The log file cannot be opened.
    pub fn prepare(&self, global: &GlobalConfig) -> io::Result<PreparedLog<'_>> {
        let options = global.log_file.as_ref().map(|path| FileOptions {
            path: path.clone(),
            format: global.log_file_format,
            only: global.log_file_only,
            rotation: global.log_rotation,
            host: process::host_name(),
            name: self.0.name.clone(),
        });
        let file = if *lock(&self.0.file) == options {
            NextFile::Same
        } else if lock(&self.0.writer).is_some() {
            NextFile::Other(options.clone().map(LogFile::open).transpose()?)
        } else {
            NextFile::Other(None)
        };
        Ok(PreparedLog {
            log: self,
            level: global.log_level,
            options,
            file,
        })
    }

    /// Opens the log file again by its name: somebody may have moved the file away. Lines that were logged before go to
    /// the old file.
    ///
    /// # Errors
    /// The file cannot be opened; the old one stays.
    pub fn reopen(&self) -> io::Result<()> {
        let writer = lock(&self.0.writer);
        let options = lock(&self.0.file).clone();
        if let Some(options) = options.filter(|_| writer.is_some()) {
            self.0.queue.replace_file(Some(LogFile::open(options)?));
        }
        Ok(())
    }

    /// Writes to `options.path`. If the writer does not run, this begins with the next [`Log::start_writer`].
    fn set_file(&self, options: Option<FileOptions>) {
        self.0
            .file_only
            .store(options.as_ref().is_some_and(|options| options.only), Ordering::Relaxed);
        self.0.has_file.store(options.is_some(), Ordering::Relaxed);
        *lock(&self.0.file) = options;
        self.route();
    }

    /// The levels of `-d`.
    pub fn debug_levels(&self) -> LevelMask {
        self.0.debug.load(Ordering::Relaxed)
    }

    /// Changes the levels of `-d`.
    pub fn set_debug_levels(&self, mask: LevelMask) {
        self.0.debug.store(mask, Ordering::Relaxed);
        self.route();
    }

    /// Sets the levels of `loglevel`, also at run time.
    pub fn set_levels(&self, mask: LevelMask) {
        self.0.levels.store(mask, Ordering::Relaxed);
        self.route();
    }

    /// The levels of `loglevel`.
    pub fn levels(&self) -> LevelMask {
        self.0.levels.load(Ordering::Relaxed)
    }

    /// Connects to the syslog daemon now, because its socket will be out of reach later. Without a daemon, later
    /// messages try again.
    pub fn connect_syslog(&self) {
        if let Some(syslog) = &mut *lock(&self.0.syslog) {
            syslog.connect();
        }
    }

    /// Whether errors are written to stderr.
    pub fn shows_stderr(&self) -> bool {
        self.0.to_stderr.load(Ordering::Relaxed) != 0
    }

    /// Writes out what is waiting and ends the log thread. Later lines go to stderr only. A target that is stuck is
    /// waited for at most five seconds.
    pub fn close(&self) {
        let writer = lock(&self.0.writer).take();
        drop(writer);
    }

    /// All levels that are written somewhere.
    fn enabled(&self) -> LevelMask {
        let shared = &self.0;
        [&shared.to_stderr, &shared.to_syslog, &shared.to_file]
            .iter()
            .fold(0, |mask, target| mask | target.load(Ordering::Relaxed))
    }

    fn route(&self) {
        let shared = &self.0;
        let (debug, levels) = (
            shared.debug.load(Ordering::Relaxed),
            shared.levels.load(Ordering::Relaxed),
        );
        let only = shared.file_only.load(Ordering::Relaxed);
        let has_file = shared.has_file.load(Ordering::Relaxed);
        let file = match (has_file, only) {
            (false, _) => 0,
            (true, false) => debug,
            (true, true) => debug | levels,
        };
        shared.to_file.store(file, Ordering::Relaxed);
        shared
            .to_stderr
            .store(if has_file && only { 0 } else { debug }, Ordering::Relaxed);
        shared
            .to_syslog
            .store(if has_file && only { 0 } else { levels }, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Writes one line to the targets of its level.
    fn write(&self, mask: LevelMask, level: &'static str, text: &str) {
        let shared = &self.0;
        let goes_to = |levels: &AtomicU32| mask & levels.load(Ordering::Relaxed) != 0;
        let targets = Targets {
            stderr: goes_to(&shared.to_stderr),
            syslog: goes_to(&shared.to_syslog),
            file: goes_to(&shared.to_file),
        };
        if targets.any() {
            shared.queue.push(level, targets, text);
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("enabled", &self.enabled())
            .finish_non_exhaustive()
    }
}

/// The log remains usable after a thread panicked during logging.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
