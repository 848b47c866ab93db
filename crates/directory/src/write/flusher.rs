//! `checkpoint`: flushes a database whose commits are not flushed.

use std::time::Duration;

use ironbark_config::Checkpoint;
use ironbark_store::Database;

use crate::{Directory, backend::queue::Served};

/// Flushes a database as its `checkpoint` says.
pub(super) struct Flusher {
    /// `None`: each commit is flushed, or nothing was configured.
    checkpoint: Option<Checkpoint>,
    octets_written: u64,
    /// When the first write since the last flush was made.
    since: Option<u64>,
    now: u64,
}

impl Flusher {
    pub(super) fn of(served: &Served, directory: &Directory) -> Self {
        Self {
            checkpoint: checkpoint(served),
            octets_written: 0,
            since: None,
            now: directory.monotonic_micros(),
        }
    }

    /// Takes over another configuration; earlier writes still have to be flushed.
    pub(super) fn go_over_to(&mut self, served: &Served) {
        self.checkpoint = checkpoint(served);
    }

    /// How long to wait for the next write before looking at the time again.
    pub(super) fn patience(&self, directory: &Directory) -> Duration {
        match (self.period_micros(), self.since) {
            (Some(micros), Some(since)) => {
                Duration::from_micros((since + micros).saturating_sub(directory.monotonic_micros()))
            }
            _ => Duration::MAX,
        }
    }

    pub(super) fn written(&mut self, octets: usize) {
        self.octets_written += octets as u64;
        self.since.get_or_insert(self.now);
    }

    pub(super) fn flush_when_due(&mut self, directory: &Directory, database: &Database) {
        let Some(checkpoint) = self.checkpoint else { return };
        self.now = directory.monotonic_micros();
        let octets = u64::from(checkpoint.kilobytes) * 1_024;
        let by_size = octets > 0 && self.octets_written >= octets;
        let by_time =
            matches!((self.period_micros(), self.since), (Some(micros), Some(since)) if self.now >= since + micros);
        if !by_size && !by_time {
            return;
        }
        if let Err(error) = database.sync() {
            tracing::error!(target: "any", "checkpoint: {error}");
        }
        self.octets_written = 0;
        self.since = None;
    }

    fn period_micros(&self) -> Option<u64> {
        let minutes = self.checkpoint?.minutes;
        (minutes > 0).then(|| u64::from(minutes) * 60_000_000)
    }
}

/// A checkpoint is for databases whose commits are not flushed.
fn checkpoint(served: &Served) -> Option<Checkpoint> {
    let database = served.context.database()?;
    served
        .context
        .settings
        .mdb
        .checkpoint
        .filter(|_| database.options().no_sync)
}
