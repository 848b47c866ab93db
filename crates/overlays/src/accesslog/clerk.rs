//! The thread of a log: it writes what changed nothing into the log, and deletes old entries.
//!
//! Nobody waits for it. What waits for it is bounded: beyond that the oldest goes, which the server's log says.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak},
    thread::JoinHandle,
    time::Duration,
};

use ironbark_directory::Directory;
use ironbark_model::Dn;
use ironbark_runtime::{Clock, MonotonicTime, spawn_named};
use ironbark_store::ContextVector;

use super::{
    append::{Append, LogChange, Lost},
    context_of, purge,
    render::LoggedOperation,
    run,
    settings::Purge,
};

/// Octets of operations that wait.
const QUEUE_OCTETS: usize = 64 << 20;
/// Octets that an operation counts for at least.
const OPERATION_OCTETS: usize = 512;
/// Operations that are written together.
const BATCH: usize = 256;

/// The sending side.
pub(super) struct Clerk {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
    directory: OnceLock<Weak<Directory>>,
}

/// What both sides share.
struct Desk {
    log_db: Dn,
    purge: Option<Purge>,
    purge_batch: Option<u32>,
    tray: Mutex<Tray>,
    told: Condvar,
}

#[derive(Default)]
struct Tray {
    waiting: VecDeque<(usize, LoggedOperation)>,
    octets: usize,
    /// Operations that were lost since the last report.
    lost: u64,
    has_ended: bool,
}

impl Clerk {
    pub(super) fn new(log_db: Dn, purge: Option<Purge>, purge_batch: Option<u32>) -> Self {
        let desk = Desk {
            log_db,
            purge,
            purge_batch,
            tray: Mutex::default(),
            told: Condvar::new(),
        };
        Self {
            desk: Arc::new(desk),
            thread: Mutex::default(),
            directory: OnceLock::new(),
        }
    }

    /// Starts the thread, unless it runs.
    pub(super) fn begin(&self, directory: &Arc<Directory>) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return;
        }
        // Only this function sets it, and always to the same.
        let _ = self.directory.set(Arc::downgrade(directory));
        let clock = directory.clock().clone();
        // Purging counts from here, not from when the thread gets its turn.
        let begun = clock.monotonic();
        let (desk, directory) = (Arc::clone(&self.desk), Arc::downgrade(directory));
        match spawn_named("accesslog", move || desk.work(&directory, &clock, begun)) {
            Ok(started) => *thread = Some(started),
            Err(error) => tracing::error!(target: "any", "accesslog: starting a thread: {error}"),
        }
    }

    /// When an operation began, which came at this monotonic time, and the present; microseconds since 1970.
    pub(super) fn times(&self, received_micros: u64) -> (i64, i64) {
        let Some(directory) = self.directory.get().and_then(Weak::upgrade) else {
            return (0, 0);
        };
        let now = directory.clock().now().unix_micros();
        let took = directory.monotonic_micros().saturating_sub(received_micros);
        (now.saturating_sub_unsigned(took), now)
    }

    /// Takes an operation.
    pub(super) fn take(&self, operation: LoggedOperation) {
        let values = operation
            .details
            .iter()
            .flat_map(|(_, values)| values.iter().map(Vec::len));
        let octets = OPERATION_OCTETS + operation.dn.as_ref().map_or(0, |dn| dn.len()) + values.sum::<usize>();
        let mut tray = self.desk.tray.lock().unwrap_or_else(PoisonError::into_inner);
        while tray.octets.saturating_add(octets) > QUEUE_OCTETS
            && let Some((gone, _)) = tray.waiting.pop_front()
        {
            tray.octets -= gone;
            tray.lost += 1;
        }
        tray.octets += octets;
        tray.waiting.push_back((octets, operation));
        self.desk.told.notify_one();
    }

    /// Waits until everything is written.
    pub(super) fn end(&self) {
        {
            let mut tray = self.desk.tray.lock().unwrap_or_else(PoisonError::into_inner);
            tray.has_ended = true;
        }
        self.desk.told.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

/// What the thread does next.
enum Turn {
    Write(Vec<LoggedOperation>, u64),
    Purge,
    End,
}

impl Desk {
    fn work(&self, directory: &Weak<Directory>, clock: &Clock, begun: MonotonicTime) {
        let interval = self.purge.map(|purge| Duration::from_secs(purge.interval_s));
        let mut purges_at = interval.map(|interval| begun + interval);
        loop {
            let turn = self.turn(clock, purges_at);
            let Some(directory) = directory.upgrade() else { return };
            match turn {
                Turn::Write(operations, lost) => self.write(&directory, operations, lost),
                Turn::Purge => {
                    // What becomes old while this works is for the next time.
                    purges_at = interval.map(|interval| clock.monotonic() + interval);
                    self.purge(&directory);
                }
                Turn::End => return,
            }
        }
    }

    /// Purging comes first when it is due: there may be operations without end.
    fn turn(&self, clock: &Clock, purges_at: Option<MonotonicTime>) -> Turn {
        let mut tray = self.tray.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = purges_at.map(|at| at.saturating_since(clock.monotonic()));
            if left == Some(Duration::ZERO) && !tray.has_ended {
                return Turn::Purge;
            }
            if !tray.waiting.is_empty() {
                let count = tray.waiting.len().min(BATCH);
                let batch: Vec<_> = tray.waiting.drain(..count).collect();
                tray.octets -= batch.iter().map(|(octets, _)| octets).sum::<usize>();
                let operations = batch.into_iter().map(|(_, operation)| operation).collect();
                return Turn::Write(operations, std::mem::take(&mut tray.lost));
            }
            if tray.has_ended {
                return Turn::End;
            }
            tray = match left {
                None => self.told.wait(tray).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.told.wait_timeout(tray, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn write(&self, directory: &Arc<Directory>, operations: Vec<LoggedOperation>, lost: u64) {
        let name = self.log_db.pretty();
        if lost > 0 {
            tracing::error!(target: "any", "accesslog: {lost} operations are not in {name}: too many were waiting");
        }
        let count = operations.len();
        let change = |operation| LogChange {
            position: None,
            is_last: true,
            csn: None,
            cookie: Vec::new(),
            operation: Some(operation),
        };
        let errand = Append {
            suffix: self.log_db.clone(),
            vector: ContextVector::default(),
            is_of_tree: false,
            lost: Lost::Nothing,
            changes: operations.into_iter().map(change).collect(),
        };
        let configuration = directory.configuration();
        let Ok(log) = context_of(&configuration, &self.log_db) else {
            return;
        };
        if let Err(error) = run(directory, log, Arc::new(errand)) {
            let (code, text) = (error.result_code, error.diagnostic_message);
            tracing::error!(target: "any", "accesslog: {count} operations are not in {name}: {code:?} {text}");
        }
    }

    fn purge(&self, directory: &Arc<Directory>) {
        let configuration = directory.configuration();
        let (Some(settings), Ok(log)) = (self.purge, context_of(&configuration, &self.log_db)) else {
            return;
        };
        loop {
            let errand = Arc::new(purge::Purging::new(
                self.log_db.clone(),
                settings.age_s,
                self.purge_batch,
            ));
            match run(directory, log, Arc::clone(&errand) as _) {
                Ok(()) if errand.is_complete() => return,
                Ok(()) => {}
                Err(error) => {
                    let (code, text) = (error.result_code, error.diagnostic_message);
                    let name = self.log_db.pretty();
                    return tracing::error!(target: "any", "accesslog: purging {name}: {code:?} {text}");
                }
            }
            if self.tray.lock().unwrap_or_else(PoisonError::into_inner).has_ended {
                return;
            }
        }
    }
}
