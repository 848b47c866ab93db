//! Defines the indexes of the configuration in force, and builds and deletes them between groups of writes, in steps
//! too short for clients to notice.

use std::time::Duration;

use ironbark_store::{Database, IndexProgress, IndexStep};

use crate::{
    Directory,
    backend::{open, queue::Served},
};

/// The target duration of a step, with its commit.
const STEP_MICROS: u64 = 5_000;
/// Entries of the first step, and the maximum.
const FIRST_STEP: usize = 32;
const MOST_ENTRIES: usize = 20_000;
/// Time before a failed step (the disk is full) is tried again.
const PAUSE_MICROS: u64 = 60_000_000;

/// The index work of one database.
pub(super) struct Indexing {
    /// Whether the database has the indexes of the configuration.
    is_defined: bool,
    entries: usize,
    /// The last line that was logged: the indexes, and tenths of their entries.
    said: Option<(Vec<String>, u64)>,
    /// When the next step may be made: later after a failure, and while clients write. Clients get half of the time.
    not_before: u64,
}

impl Default for Indexing {
    fn default() -> Self {
        Self {
            is_defined: false,
            entries: FIRST_STEP,
            said: None,
            not_before: 0,
        }
    }
}

impl Indexing {
    /// How long the next step may wait for writes.
    pub(super) fn patience(&self, directory: &Directory, database: &Database) -> Duration {
        if !self.is_defined || database.has_index_work() {
            Duration::from_micros(self.not_before.saturating_sub(directory.monotonic_micros()))
        } else {
            Duration::MAX
        }
    }

    /// Gives the database the indexes of the configuration. If the disk is full, it is tried again in a minute: the
    /// configuration is in force, and the existing indexes serve until then.
    pub(super) fn define(&mut self, directory: &Directory, served: &Served, database: &Database) {
        match database.define_indexes(&open::options(&served.context.settings).indexes) {
            Ok(()) => self.is_defined = true,
            Err(error) => {
                self.not_before = directory.monotonic_micros() + PAUSE_MICROS;
                tracing::error!(target: "any", "{}: defining indexes: {error}; tried again in a minute", name(database));
            }
        }
    }

    /// Makes a step if there is work. `is_busy`: clients are writing. Returns whether something was committed.
    pub(super) fn step(&mut self, directory: &Directory, served: &Served, database: &Database, is_busy: bool) -> bool {
        if !self.patience(directory, database).is_zero() {
            return false;
        }
        if !self.is_defined {
            self.define(directory, served, database);
            return self.is_defined;
        }
        let begin = directory.monotonic_micros();
        match database.index_step(self.entries) {
            Ok(step) => {
                let end = directory.monotonic_micros();
                let taken = end.saturating_sub(begin);
                self.adjust_step(taken);
                self.not_before = if is_busy { end + taken } else { 0 };
                if let Some(step) = &step {
                    self.say(database, step);
                }
                step.is_some()
            }
            Err(error) => {
                self.not_before = begin + PAUSE_MICROS;
                tracing::error!(target: "any", "{}: building indexes: {error}; tried again in a minute", name(database));
                false
            }
        }
    }

    fn adjust_step(&mut self, micros: u64) {
        if micros < STEP_MICROS / 2 {
            self.entries = (self.entries * 2).min(MOST_ENTRIES);
        } else if micros > STEP_MICROS {
            self.entries = (self.entries / 2).max(1);
        }
    }

    fn say(&mut self, database: &Database, step: &IndexStep) {
        match step {
            IndexStep::Deleted { index, is_complete } => {
                if *is_complete {
                    tracing::info!(target: "any", "{}: index {index}: deleted", name(database));
                }
            }
            IndexStep::Built { progress, is_complete } => self.say_built(database, progress, *is_complete),
        }
    }

    /// Logs the start, each tenth, and the end.
    fn say_built(&mut self, database: &Database, progress: &[IndexProgress], is_complete: bool) {
        let names: Vec<String> = progress.iter().map(|one| one.index.clone()).collect();
        let (done, total) = progress.first().map_or((0, 0), |one| (one.done, one.total));
        let text = names.join(", ");
        let tenths = (done * 10).checked_div(total).unwrap_or(10).min(9);
        let said = self.said.take().filter(|(said, _)| *said == names);
        let is_news = said.as_ref().is_none_or(|(_, said)| tenths > *said);
        if said.is_none() {
            tracing::info!(target: "any", "{}: index {text}: building, {total} entries", name(database));
        }
        if is_complete {
            tracing::info!(target: "any", "{}: index {text}: built, {done} entries", name(database));
            return;
        }
        if is_news && tenths > 0 {
            tracing::info!(target: "any", "{}: index {text}: {tenths}0 %, {done} of {total} entries", name(database));
        }
        self.said = Some((names, tenths));
    }
}

fn name(database: &Database) -> &str {
    database.options().suffixes.first().map_or("", |suffix| suffix.pretty())
}
