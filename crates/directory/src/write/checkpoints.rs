//! Checkpoints of a database of a cluster. Its commits are not flushed, since the log has their changes on the disks of
//! a majority.

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

use crate::backend::queue::{Served, WriterHandle};

/// How long a commit may wait for a checkpoint, in microseconds. Until then the pages that commits replace are not used
/// again: the file grows by what is written meanwhile.
const INTERVAL: u64 = 250_000;
/// The same while the one before is not complete. Then writes wait for it, so that the file does not grow further.
const LONG: u64 = 1_000_000;
/// How often a writer without work looks whether the one before is complete.
const LOOK: Duration = Duration::from_millis(20);

/// A checkpoint on its way to the disk.
struct Begun {
    checkpoint: Checkpoint,
    /// Number of the last change that it has.
    sequence: u64,
    writer: WriterHandle,
}

/// The checkpoints of one database, which a thread of its own completes.
pub(super) struct Checkpoints {
    queue: SyncSender<Begun>,
    thread: JoinHandle<()>,
    is_busy: Arc<AtomicBool>,
    /// When the first commit since the last checkpoint was made.
    since: Option<u64>,
}

impl Checkpoints {
    /// Begins, if the database is one of a cluster. Without a thread or a file its commits are flushed as any other's.
    pub(super) fn of(served: &Served) -> Option<Self> {
        served.context.settings.cluster.as_ref()?;
        let database = served.context.database()?;
        let (queue, begun) = sync_channel(0);
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let thread = spawn_named("checkpoints", move || complete_all(&begun, &busy));
        let thread = thread.map_err(|error| StoreError::Format(format!("starting a thread: {error}")));
        let thread = thread.and_then(|thread| database.defer_flushes().map(|()| thread));
        match thread {
            Ok(thread) => Some(Self {
                queue,
                thread,
                is_busy,
                since: None,
            }),
            Err(error) => {
                tracing::error!(target: "any", "each commit is flushed, because checkpoints cannot be made: {error}");
                None
            }
        }
    }

    pub(super) fn written(&mut self, now: u64) {
        self.since.get_or_insert(now);
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
    pub(super) fn begin_when_due(&mut self, served: &Served, database: &Database, now: u64) {
        let Some(since) = self.since.filter(|since| now >= since + INTERVAL) else {
            return;
        };
        let is_long = now >= since + LONG;
        if self.is_busy.load(Ordering::Acquire) && !is_long {
            return;
        }
        let begun = begin(served, database).unwrap_or_else(|error| {
            tracing::error!(target: "any", "checkpoint: {error}");
            None
        });
        self.since = None;
        if let Some(begun) = begun {
            self.is_busy.store(true, Ordering::Release);
            // It waits while another one is under way. The thread lives as long as the queue.
            let _ = self.queue.send(begun);
        }
    }

    /// Waits for what is under way, and flushes each commit from now on.
    pub(super) fn end(self, database: &Database) {
        drop(self.queue);
        // If it has panicked, what follows does its work.
        let _ = self.thread.join();
        if let Err(error) = database.flush_each_commit() {
            tracing::error!(target: "any", "flushing a database: {error}");
        }
    }
}

fn begin(served: &Served, database: &Database) -> Result<Option<Begun>, StoreError> {
    let Some(writer) = served.context.backend.own_writer().cloned() else {
        return Ok(None);
    };
    let sequence = database.snapshot()?.view().log_place()?.position.sequence;
    let checkpoint = database.checkpoint()?;
    Ok(checkpoint.map(|checkpoint| Begun {
        checkpoint,
        sequence,
        writer,
    }))
}

fn complete_all(queue: &Receiver<Begun>, is_busy: &AtomicBool) {
    while let Ok(begun) = queue.recv() {
        match begun.checkpoint.complete() {
            Ok(()) => {
                if let Some(log) = begun.writer.log().get() {
                    log.kept(begun.sequence);
                }
            }
            Err(error) => tracing::error!(target: "any", "a checkpoint cannot be written to the disk: {error}"),
        }
        is_busy.store(false, Ordering::Release);
    }
}
