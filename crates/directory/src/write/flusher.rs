//! Flushes a database whose commits are not flushed: as the operator's `checkpoint` says, or by checkpoints of its own
//! where a partner brings again what a crash takes.

use std::time::Duration;

use ironbark_config::CheckpointInterval;
use ironbark_store::Database;

use super::{checkpoints::Checkpoints, partner::Flush};
use crate::{Directory, backend::queue::Served};

/// Flushes a database.
pub(super) struct Flusher {
    /// Where a partner has the changes on the disk.
    checkpoints: Option<Checkpoints>,
    /// `None`: each commit is flushed, or nothing was configured.
    checkpoint: Option<CheckpointInterval>,
    octets_written: u64,
    /// When the first write since the last flush was made.
    since: Option<u64>,
    now: u64,
}

impl Flusher {
    pub(super) fn of(served: &Served, directory: &Directory, flush: Flush) -> Self {
        Self {
            checkpoints: checkpoints(served, flush),
            checkpoint: checkpoint(served),
            octets_written: 0,
            since: None,
            now: directory.monotonic_micros(),
        }
    }

    /// Takes over another configuration; earlier writes still have to be flushed. `database`: the former one.
    pub(super) fn go_over_to(&mut self, served: &Served, database: &Database, flush: Flush) {
        self.checkpoint = checkpoint(served);
        match self.checkpoints.take() {
            Some(checkpoints) if !matches!(flush, Flush::Checkpoints(_)) => checkpoints.end(database),
            None => self.checkpoints = checkpoints(served, flush),
            both => self.checkpoints = both,
        }
    }

    /// After the last commit.
    pub(super) fn end(self, database: &Database) {
        if let Some(checkpoints) = self.checkpoints {
            checkpoints.end(database);
        }
    }

    /// How long to wait for the next write before looking at the time again.
    pub(super) fn patience(&self, directory: &Directory) -> Duration {
        if let Some(checkpoints) = &self.checkpoints {
            return checkpoints.patience(directory.monotonic_micros());
        }
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
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.written(octets, self.now);
        }
    }

    pub(super) fn flush_when_due(&mut self, directory: &Directory, database: &Database) {
        if self.checkpoint.is_none() && self.checkpoints.is_none() {
            return;
        }
        self.now = directory.monotonic_micros();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin_when_due(database, self.now);
        }
        let Some(checkpoint) = self.checkpoint else { return };
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

/// Begins checkpoints, if a partner allows them.
fn checkpoints(served: &Served, flush: Flush) -> Option<Checkpoints> {
    match flush {
        Flush::Checkpoints(on_disk) => Some(Checkpoints::of(served.context.database()?, on_disk)),
        Flush::AsConfigured | Flush::Never => None,
    }
}

/// A checkpoint is for databases whose commits are not flushed.
fn checkpoint(served: &Served) -> Option<CheckpointInterval> {
    let database = served.context.database()?;
    served
        .context
        .settings
        .mdb
        .checkpoint
        .filter(|_| database.options().no_sync)
}
