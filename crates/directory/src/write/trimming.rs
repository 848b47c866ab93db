//! Trimming the log of changes between groups of writes, in short steps.

use std::time::Duration;

use ironbark_store::{Database, LogLimits};

use super::followers::Followers;
use crate::{Directory, backend::queue::Served};

/// Rows of each table that one step deletes.
const ROWS: usize = 512;
/// Time without a check after the log was in order, unless it has grown since; also the time after a failure.
const PAUSE_MICROS: u64 = 5_000_000;
/// How often all tombstones are checked.
const TOMBSTONES_MICROS: u64 = 3_600_000_000;
/// How long deletes are remembered.
const TOMBSTONE_AGE_MICROS: i64 = 30 * 86_400 * 1_000_000;
/// Octets of rows if only `changelog-age` is set.
const AGED_OCTETS: u64 = 256 << 20;
/// Octets of rows that are kept for readers if only overlays follow. The pages of a short log stay in memory.
const FOLLOWED_OCTETS: u64 = 4 << 20;

/// The trimming of one database.
#[derive(Default)]
pub(super) struct Trimming {
    /// When the next step may be made.
    not_before: u64,
    /// When all tombstones are checked again.
    tombstones_at: u64,
    /// No log is kept, and the old one has been deleted.
    is_done: bool,
    /// Octets of rows that the last step left, for a follower or another step; the maximum if it failed.
    octets_left: u64,
    /// Whether the loss of changes that a follower had not taken was logged; logged once.
    has_told_of_loss: bool,
}

impl Trimming {
    /// How long the next step may wait for writes.
    pub(super) fn patience(&self, directory: &Directory) -> Duration {
        if self.is_done {
            return Duration::MAX;
        }
        Duration::from_micros(self.not_before.saturating_sub(directory.monotonic_micros()))
    }

    /// Makes a step if there is work. `is_busy`: clients are writing. Returns whether something was committed.
    pub(super) fn step(
        &mut self,
        directory: &Directory,
        served: &Served,
        database: &Database,
        followers: &Followers,
        is_busy: bool,
    ) -> bool {
        // Under load, a log would grow far beyond its limit during the pause.
        let may_grow = is_busy && !self.is_done;
        let is_due = self.patience(directory).is_zero() || (may_grow && self.has_grown(served, database));
        if !is_due {
            return false;
        }
        let begin = directory.monotonic_micros();
        let looks_at_tombstones = begin >= self.tombstones_at;
        let limits = limits(directory, served, followers, looks_at_tombstones);
        match database.trim_log(&limits, ROWS) {
            Ok(step) => {
                self.octets_left = step.bytes;
                let end = directory.monotonic_micros();
                if step.is_complete {
                    self.not_before = end + PAUSE_MICROS;
                    self.is_done = !served.context.keeps_log();
                } else {
                    self.not_before = if is_busy { end + (end - begin) } else { 0 };
                }
                if looks_at_tombstones && step.has_seen_tombstones {
                    self.tombstones_at = end + TOMBSTONES_MICROS;
                }
                self.tell_of_loss(followers, step.first_kept);
                step.rows > 0
            }
            Err(error) => {
                (self.not_before, self.octets_left) = (begin + PAUSE_MICROS, u64::MAX);
                tracing::error!(target: "any", "{}: trimming the log of changes: {error}", name(database));
                false
            }
        }
    }

    /// Whether the rows are an eighth longer than allowed, or than the last step could make them.
    fn has_grown(&self, served: &Served, database: &Database) -> bool {
        let octets = size_limit(served);
        let state = database.snapshot().and_then(|snapshot| snapshot.view().log_state());
        state.is_ok_and(|state| state.bytes > octets.max(self.octets_left).saturating_add(octets / 8))
    }

    fn tell_of_loss(&mut self, followers: &Followers, first_kept: Option<u64>) {
        let Some((behind, first)) = followers.stuck_behind().zip(first_kept) else {
            return;
        };
        if behind + 1 < first && !self.has_told_of_loss {
            self.has_told_of_loss = true;
            tracing::error!(
                target: "any",
                "the log of changes has reached its size: a follower that cannot take changes has lost some, from number {} on",
                behind + 1
            );
        }
    }
}

/// Maximum octets of rows, without those that followers need.
fn size_limit(served: &Served) -> u64 {
    let settings = &served.context.settings;
    let octets = settings.mdb.change_log_octets;
    octets.unwrap_or(if settings.keeps_changes() {
        AGED_OCTETS
    } else {
        FOLLOWED_OCTETS
    })
}

fn limits(directory: &Directory, served: &Served, followers: &Followers, looks_at_tombstones: bool) -> LogLimits {
    let now = directory.clock().now().unix_micros();
    let mdb = &served.context.settings.mdb;
    if !served.context.keeps_log() {
        return LogLimits {
            bytes: 0,
            changes_since: i64::MAX,
            tombstones_since: looks_at_tombstones.then_some(i64::MAX),
            keep_from: u64::MAX,
        };
    }
    let age = mdb.change_log_age_s.map(|seconds| i64::from(seconds) * 1_000_000);
    LogLimits {
        bytes: size_limit(served),
        changes_since: age.map_or(i64::MIN, |age| now.saturating_sub(age)),
        tombstones_since: looks_at_tombstones.then(|| now.saturating_sub(TOMBSTONE_AGE_MICROS)),
        keep_from: followers.keep_from(),
    }
}

fn name(database: &Database) -> &str {
    database.options().suffixes.first().map_or("", |suffix| suffix.pretty())
}
