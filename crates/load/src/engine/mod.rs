//! Runs a workload over many connections and measures it.
//!
//! Each thread owns its connections and serves them from one poll. It reads all data that has arrived on a connection
//! at once, takes the answers, and writes the next requests together. In a closed loop the next request follows an
//! answer. In an open loop requests leave by a schedule. Latency then counts from the scheduled time, even if the
//! request left later.

mod alarm;
mod client;
mod connection;
mod measures;
mod plan;
mod schedule;
mod session;
mod worker;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use ironbark_runtime::{Clock, spawn_named};

pub use self::plan::{Arrival, EngineError, Measurement};
use self::{measures::Measures, worker::Worker};
use crate::{
    process::{Process, ProcessorTime},
    result::{Point, Unit},
    target::Target,
    workload::Workload,
};

/// The progress of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MeasurementProgress {
    /// Requests answered, the warm-up included.
    pub answered: u64,
    /// Entries received, the warm-up included.
    pub entries: u64,
}

/// The state that all threads share.
#[derive(Debug, Default)]
struct Shared {
    answered: AtomicU64,
    entries: AtomicU64,
    /// Requests that have been sent, when their number is limited.
    sent: AtomicU64,
}

/// The result of a thread.
struct Outcome {
    measures: Measures,
    server: Option<(ProcessorTime, ProcessorTime)>,
    own: (ProcessorTime, ProcessorTime),
}

/// Runs a workload once. `progress` is called some times a second.
///
/// # Errors
/// There is no connection, or the plan cannot be carried out. Unexpected answers are counted; they are no error here.
pub fn run(
    workload: &dyn Workload,
    plan: &Measurement,
    target: &Target,
    progress: &mut dyn FnMut(MeasurementProgress),
) -> Result<Point, EngineError> {
    plan.check()?;
    if let Some(pid) = plan.server {
        // The server gets no request if its figures are not available.
        Process::new(pid).memory().map_err(system("the server's process"))?;
    }
    let clock = Clock::system();
    let shared = Arc::new(Shared::default());
    let threads = plan.threads.min(plan.connections);
    let mut workers = Vec::new();
    for index in 0..threads {
        let mut worker = Worker::new(plan, workload.kinds(), index, threads, clock.clone(), shared.clone())?;
        // Connection n belongs to thread n modulo the number of threads.
        for number in (index..plan.connections).step_by(usize::try_from(threads).unwrap_or(1)) {
            worker.connect(target, workload.requests(number, plan.connections))?;
        }
        workers.push(worker);
    }
    let (sender, receiver) = mpsc::channel();
    for (index, worker) in workers.into_iter().enumerate() {
        let sender = sender.clone();
        let body = move || {
            // The receiver waits for every thread, so this does not fail.
            let _ = sender.send(worker.run());
        };
        spawn_named(&format!("load-{index}"), body).map_err(system("a thread"))?;
    }
    drop(sender);
    let outcomes = collect(&receiver, &shared, progress)?;
    summarize(workload, plan, outcomes)
}

fn collect(
    receiver: &mpsc::Receiver<Result<Outcome, EngineError>>,
    shared: &Shared,
    progress: &mut dyn FnMut(MeasurementProgress),
) -> Result<Vec<Outcome>, EngineError> {
    let mut outcomes = Vec::new();
    loop {
        match receiver.recv_timeout(PROGRESS_INTERVAL) {
            Ok(outcome) => outcomes.push(outcome?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(outcomes),
        }
        progress(MeasurementProgress {
            answered: shared.answered.load(Ordering::Relaxed),
            entries: shared.entries.load(Ordering::Relaxed),
        });
    }
}

fn summarize(workload: &dyn Workload, plan: &Measurement, outcomes: Vec<Outcome>) -> Result<Point, EngineError> {
    let mut outcomes = outcomes.into_iter();
    let Some(mut first) = outcomes.next() else {
        return Err(EngineError::Plan("no thread has measured anything".to_owned()));
    };
    for outcome in outcomes {
        first.measures.add(&outcome.measures);
    }
    let mut point = first.measures.point(plan, workload.kinds());
    let server = first.server.map(|(before, after)| after.since(before));
    if let Some((used, pid)) = server.zip(plan.server) {
        let memory = Process::new(pid).memory().map_err(system("the server's memory"))?;
        let counted = match workload.unit() {
            Unit::Operations => point.answered_in_window(),
            Unit::Entries => first.measures.entries(),
        };
        point.server = Some(used.of(counted, memory));
    }
    let (before, after) = first.own;
    point.load_cpu_seconds = after.since(before).total_seconds();
    Ok(point)
}

fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> EngineError {
    move |source| EngineError::System {
        what: what.into(),
        source,
    }
}

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
