//! Checkpoints of a database whose commits are not flushed, since a partner of the commit has their changes on a disk
//! before: the log of a cluster has them on the disks of a majority.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use ironbark_runtime::spawn_named;
use ironbark_store::{Checkpoint, Database, StoreError};

/// How long a commit may wait for a checkpoint, in microseconds. Until then the pages that commits replace are not used
/// again: the file grows by what is written meanwhile.
const INTERVAL: u64 = 250_000;
/// The same while the one before is not complete. Then writes wait for it, so that the file does not grow further.
const LONG: u64 = 1_000_000;
/// Octets of changes after which they do not wait longer, and wait for the one before. The pages that they replace may
/// be twenty times as many: the file of a server that catches up would be several times as long within a second.
const MANY: u64 = 4 << 20;
/// How often a writer without work looks whether the one before is complete.
const LOOK: Duration = Duration::from_millis(20);

/// A checkpoint on its way to the disk.
struct Begun {
    checkpoint: Checkpoint,
    /// Number of the last change that it has.
    sequence: u64,
}

/// Is told the number of the last change that is on the disk.
type OnDisk = Arc<dyn Fn(u64) + Send + Sync>;

/// The checkpoints of one database, which a thread of its own completes.
pub(super) struct Checkpoints {
    queue: SyncSender<Begun>,
    on_disk: OnDisk,
    /// `None`: it could not be started, and each commit is flushed.
    thread: Option<JoinHandle<()>>,
    is_busy: Arc<AtomicBool>,
    /// When the first commit since the last checkpoint was made.
    since: Option<u64>,
    /// Octets of changes since then.
    octets: u64,
    errors: Errors,
}

/// Errors that come again and again, and are told once.
#[derive(Default)]
struct Errors(Option<String>);

impl Errors {
    /// Takes the outcome of an attempt. An error is returned unless it was that of the attempt before.
    fn news(&mut self, outcome: Result<(), StoreError>) -> Option<&str> {
        let error = outcome.err().map(|error| error.to_string());
        if self.0 == error {
            return None;
        }
        self.0 = error;
        self.0.as_deref()
    }
}

impl Checkpoints {
    /// Begins. `on_disk` is called by the thread. Without a thread or a file each commit is flushed as any other's.
    pub(super) fn of(database: &Database, on_disk: OnDisk) -> Self {
        let (queue, begun) = sync_channel(0);
        let is_busy = Arc::new(AtomicBool::new(false));
        let (busy, tell) = (Arc::clone(&is_busy), Arc::clone(&on_disk));
        let thread = spawn_named("checkpoints", move || complete_all(&begun, &busy, &*tell));
        let begun = match &thread {
            Ok(_) => database.defer_flushes(),
            Err(error) => Err(StoreError::Format(format!("starting a thread: {error}"))),
        };
        if let Err(error) = begun {
            tracing::error!(target: "any", "each commit is flushed, because checkpoints cannot be made: {error}");
        }
        Self {
            queue,
            on_disk,
            thread: thread.ok(),
            is_busy,
            since: None,
            octets: 0,
            errors: Errors::default(),
        }
    }

    pub(super) fn written(&mut self, octets: usize, now: u64) {
        self.since.get_or_insert(now);
        self.octets += octets as u64;
    }

    /// How long a writer without work may wait.
    pub(super) fn patience(&self, now: u64) -> Duration {
        match self.since {
            None => Duration::MAX,
            Some(since) => {
                let left = Duration::from_micros((since + INTERVAL).saturating_sub(now));
                if self.is_busy.load(Ordering::Acquire) {
                    left.max(LOOK)
                } else {
                    left
                }
            }
        }
    }

    /// Begins a checkpoint if it is time, and the one before is complete.
    pub(super) fn begin_when_due(&mut self, database: &Database, now: u64) {
        let Some(since) = self.since else { return };
        let is_urgent = self.octets >= MANY || now >= since + LONG;
        let is_due = now >= since + INTERVAL && !self.is_busy.load(Ordering::Acquire);
        if !is_due && !is_urgent {
            return;
        }
        (self.since, self.octets) = (None, 0);
        let begun = self.begin(database);
        if let Some(error) = self.errors.news(begun) {
            tracing::error!(target: "any", "checkpoint: {error}");
        }
    }

    fn begin(&self, database: &Database) -> Result<(), StoreError> {
        let sequence = database.snapshot()?.view().log_place()?.position.sequence;
        let Some(checkpoint) = database.checkpoint()? else {
            (self.on_disk)(sequence);
            return Ok(());
        };
        self.is_busy.store(true, Ordering::Release);
        // It waits while another one is under way. The thread lives as long as the queue.
        let _ = self.queue.send(Begun { checkpoint, sequence });
        Ok(())
    }

    /// Waits for what is under way, and flushes each commit from now on.
    pub(super) fn end(self, database: &Database) {
        drop(self.queue);
        // If it has panicked, what follows does its work.
        let _ = self.thread.map(JoinHandle::join);
        if let Err(error) = database.flush_each_commit() {
            tracing::error!(target: "any", "flushing a database: {error}");
        }
    }
}

fn complete_all(queue: &Receiver<Begun>, is_busy: &AtomicBool, on_disk: &dyn Fn(u64)) {
    let mut errors = Errors::default();
    while let Ok(begun) = queue.recv() {
        let completed = begun.checkpoint.complete();
        if completed.is_ok() {
            on_disk(begun.sequence);
        }
        if let Some(error) = errors.news(completed) {
            tracing::error!(target: "any", "a checkpoint cannot be written to the disk: {error}");
        }
        is_busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_comes_again_is_told_once() {
        let mut errors = Errors::default();
        let full = || Err(StoreError::Format("full".to_owned()));
        assert_eq!(errors.news(full()), Some("full"));
        assert_eq!(errors.news(full()), None);
        assert_eq!(errors.news(Err(StoreError::Format("gone".to_owned()))), Some("gone"));
        assert_eq!(errors.news(Ok(())), None);
        assert_eq!(errors.news(Err(StoreError::Format("gone".to_owned()))), Some("gone"));
    }
}
