//! Work that overlays do at regular times, on the writer, between groups of writes.
//!
//! Each step is a write of its own, with its own change record. Due steps share one commit with the requests of
//! clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ironbark_model::Dn;
use ironbark_store::WriteTransaction;

use crate::{
    Directory, NamingContext, OperationError,
    backend::{
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    edit::execute::{WRITE_STEPS, execute},
    overlay::{Requested, TimerHooks, overlays_of, password_checks::Computed},
    request::{context::RequestContext, controls::WriteControls},
};

/// Steps of one timer that share a commit.
const STEPS_AT_ONCE: usize = 32;

/// The timers of the overlays of one database.
pub(super) struct Timers(Vec<Timer>);

struct Timer {
    hooks: Arc<dyn TimerHooks>,
    /// Monotonic microseconds.
    due_micros: u64,
    /// Whether a step since then has changed something.
    has_changed: Arc<AtomicBool>,
}

impl Timers {
    /// The timers of a database that is served from now on. New ones wait for their first period; those in `former`
    /// continue. A copy has none: what they would change comes from the provider.
    pub(super) fn of(served: &Served, directory: &Directory, former: Option<&Self>) -> Self {
        let now = directory.monotonic_micros();
        let timer = |hooks: &Arc<dyn TimerHooks>| {
            let former = former.and_then(|former| former.0.iter().find(|timer| Arc::ptr_eq(&timer.hooks, hooks)));
            Timer {
                hooks: Arc::clone(hooks),
                due_micros: former.map_or_else(|| after(now, &**hooks), |former| former.due_micros),
                has_changed: Arc::default(),
            }
        };
        let timers = overlays_of(&served.context).timers.iter();
        let is_shadow = served.context.settings.is_shadow();
        Self(timers.filter(|_| !is_shadow).map(timer).collect())
    }

    /// How long the next step may wait for writes.
    pub(super) fn patience(&self, directory: &Directory) -> Duration {
        let due = |timer: &Timer| {
            if timer.has_changed.load(Ordering::Relaxed) {
                0
            } else {
                timer.due_micros
            }
        };
        let due = self.0.iter().map(due).min();
        due.map_or(Duration::MAX, |due| {
            Duration::from_micros(due.saturating_sub(directory.monotonic_micros()))
        })
    }

    /// The due steps, at most `limit` of each timer. Call it after the earlier steps have been executed, and their
    /// refusals reported.
    pub(super) fn due(&mut self, directory: &Arc<Directory>, served: &Served, limit: usize) -> Vec<Box<dyn WriteTask>> {
        let now = directory.monotonic_micros();
        let mut tasks: Vec<Box<dyn WriteTask>> = Vec::new();
        for timer in &mut self.0 {
            if timer.has_changed.swap(false, Ordering::Relaxed) {
                // There may be more to do.
                timer.due_micros = now;
            }
            if timer.due_micros > now {
                continue;
            }
            timer.due_micros = after(now, &*timer.hooks);
            for _ in 0..STEPS_AT_ONCE.min(limit) {
                tasks.push(Box::new(TimerTask {
                    directory: Arc::clone(directory),
                    origin: RequestContext::of_server(served.context.settings.root_dn.clone().unwrap_or_default()),
                    hooks: Arc::clone(&timer.hooks),
                    suffix: served.context.suffixes().first().cloned().unwrap_or_default(),
                    has_changed: Arc::clone(&timer.has_changed),
                }));
            }
        }
        tasks
    }
}

fn after(now_micros: u64, hooks: &dyn TimerHooks) -> u64 {
    let period = u64::try_from(hooks.period().as_micros()).unwrap_or(u64::MAX);
    now_micros.saturating_add(period)
}

/// One step in the group of a writer.
struct TimerTask {
    directory: Arc<Directory>,
    origin: RequestContext,
    hooks: Arc<dyn TimerHooks>,
    /// The suffix of the database, for the log.
    suffix: Dn,
    has_changed: Arc<AtomicBool>,
}

impl WriteTask for TimerTask {
    fn octets(&self) -> usize {
        0
    }

    fn taken(&mut self, micros: u64) {
        self.origin.taken_micros = micros;
    }

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        let computed = Computed::default();
        let requested = Requested {
            origin: &self.origin,
            controls: WriteControls::default(),
            computed: &computed,
        };
        execute(
            &self.directory,
            served,
            requested,
            transaction,
            WRITE_STEPS,
            |execution| self.hooks.step(execution).map(|()| Success::default()),
        )
        .result
        .inspect(|(_, executed)| {
            if !executed.record.effects.is_empty() {
                self.has_changed.store(true, Ordering::Relaxed);
            }
        })
    }

    fn refused(&self, _: &OperationError) {
        // Its changes were undone: it waits for its period.
        self.has_changed.store(false, Ordering::Relaxed);
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        match outcome {
            Outcome::Refused(error) => self.answer(error),
            // It computes nothing.
            Outcome::Done(..) | Outcome::Returned(_) => {}
        }
    }

    fn answer(self: Box<Self>, error: OperationError) {
        let (suffix, text) = (self.suffix.pretty(), &error.diagnostic_message);
        tracing::error!(target: "any", "{suffix}: work of an overlay: {:?} {text}", error.result_code);
    }
}
