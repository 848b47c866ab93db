//! Lines that wait for the log thread, and the lines of reactors that their rounds have not handed over yet.
//!
//! A reactor adds lines to memory of its own and hands them over at the end of its round. Every other thread hands over
//! each line at once, and before it the lines of all reactors: a line that was written because of another one stands
//! behind it, whatever threads wrote the two.

use std::{
    cell::RefCell,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::ThreadId,
    time::Duration,
};

use ironbark_runtime::Clock;

use super::{
    file::LogFile,
    line::thread_number,
    lines::{Head, Lines, Targets},
    lock,
    stderr::Stderr,
};

/// Lines on their way to the log thread. Shared by all threads that log.
#[derive(Debug)]
pub(super) struct Queue {
    clock: Clock,
    waiting: Mutex<Waiting>,
    filled: Condvar,
    written: Condvar,
    /// Lines that did not fit, or that no target took, since the start.
    lost: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    lines: Lines,
    /// New log files, each with the number of runs that come before it.
    replacements: Vec<(usize, Option<LogFile>)>,
    /// Lines that did not fit.
    lost: u64,
    reactors: Vec<Arc<OwnLines>>,
    /// The log thread takes lines, or is about to. Without it, lines for stderr are written at once.
    is_served: bool,
    /// The log thread, once it runs.
    thread: Option<ThreadId>,
    /// The log thread has nothing to do, and waits to be told.
    is_idle: bool,
    is_closed: bool,
    /// Batches that the log thread has taken, and those that it has written.
    taken: u64,
    done: u64,
    /// Threads that wait until lines have been written.
    awaiting: usize,
    /// For lines without a log thread.
    stderr: Stderr,
    /// Memory for a line that is handed over alone.
    single: Lines,
}

/// Lines of one reactor.
#[derive(Default, Debug)]
struct OwnLines {
    lines: Mutex<Lines>,
    /// Saves the lock at the end of a round without lines.
    is_filled: AtomicBool,
}

/// The lines that the log thread writes next.
#[derive(Default, Debug)]
pub(super) struct Batch {
    pub(super) lines: Lines,
    /// New log files, each with the number of runs that come before it.
    pub(super) replacements: Vec<(usize, Option<LogFile>)>,
    /// Lines after these that did not fit.
    pub(super) lost: u64,
    /// The last batch.
    pub(super) is_last: bool,
}

/// The calling thread hands its lines over at the end of each round, until this is dropped.
#[derive(Debug)]
pub(crate) struct RoundLines(Arc<Queue>);

thread_local! {
    /// The lines of this thread, if it is a reactor.
    static OWN: RefCell<Option<Arc<OwnLines>>> = const { RefCell::new(None) };
}

impl RoundLines {
    pub(super) fn begin(queue: &Arc<Queue>) -> Self {
        let own = Arc::<OwnLines>::default();
        lock(&queue.waiting).reactors.push(Arc::clone(&own));
        OWN.set(Some(own));
        Self(Arc::clone(queue))
    }

    /// Hands over the lines of the round. Without lines this costs a load.
    pub(crate) fn hand_over(&self) {
        OWN.with_borrow(|own| {
            if let Some(own) = own
                && own.is_filled.load(Ordering::Relaxed)
            {
                self.0.hand_over(own);
            }
        });
    }
}

impl Drop for RoundLines {
    fn drop(&mut self) {
        if let Some(own) = OWN.take() {
            self.0.hand_over(&own);
            lock(&self.0.waiting)
                .reactors
                .retain(|reactor| !Arc::ptr_eq(reactor, &own));
        }
    }
}

impl Queue {
    pub(super) fn new(clock: Clock, stderr: Stderr) -> Self {
        let waiting = Waiting {
            lines: Lines::default(),
            replacements: Vec::new(),
            lost: 0,
            reactors: Vec::new(),
            is_served: false,
            thread: None,
            is_idle: false,
            is_closed: false,
            taken: 0,
            done: 0,
            awaiting: 0,
            stderr,
            single: Lines::default(),
        };
        Self {
            clock,
            waiting: Mutex::new(waiting),
            filled: Condvar::new(),
            written: Condvar::new(),
            lost: AtomicU64::new(0),
        }
    }

    /// Copies a line. If there is no room for it, it is counted.
    pub(super) fn push(&self, level: &'static str, targets: Targets, line: &str) {
        let is_own = OWN.with_borrow(|own| match own {
            Some(own) => {
                self.push_own(own, level, targets, line);
                true
            }
            None => false,
        });
        if !is_own {
            let mut waiting = lock(&self.waiting);
            self.collect(&mut waiting);
            let mut single = std::mem::take(&mut waiting.single);
            single.push(self.head(level, targets), line);
            self.add(&mut waiting, &mut single);
            single.clear_to(MAX_KEPT_OCTETS);
            waiting.single = single;
        }
    }

    /// Adds a line to those of the round. All lines of a round have the time of its first one.
    fn push_own(&self, own: &OwnLines, level: &'static str, targets: Targets, line: &str) {
        let mut lines = lock(&own.lines);
        let head = match lines.last() {
            Some(last) => Head {
                level,
                targets,
                ..*last
            },
            None => self.head(level, targets),
        };
        lines.push(head, line);
        let is_full = lines.octets() >= MAX_ROUND_OCTETS;
        drop(lines);
        own.is_filled.store(true, Ordering::Release);
        if is_full {
            self.hand_over(own);
        }
    }

    fn head(&self, level: &'static str, targets: Targets) -> Head {
        Head {
            time: self.clock.now(),
            level,
            thread: thread_number(),
            targets,
        }
    }

    fn hand_over(&self, own: &OwnLines) {
        let mut waiting = lock(&self.waiting);
        self.take_from(&mut waiting, own);
    }

    /// Takes the lines of all reactors.
    fn collect(&self, waiting: &mut Waiting) {
        let reactors = std::mem::take(&mut waiting.reactors);
        for own in &reactors {
            if own.is_filled.load(Ordering::Acquire) {
                self.take_from(waiting, own);
            }
        }
        waiting.reactors = reactors;
    }

    fn take_from(&self, waiting: &mut Waiting, own: &OwnLines) {
        let mut lines = lock(&own.lines);
        own.is_filled.store(false, Ordering::Relaxed);
        self.add(waiting, &mut lines);
        lines.clear_to(2 * MAX_ROUND_OCTETS);
    }

    /// Moves `lines` to those that wait, and wakes the log thread. If there is no room for them, they are counted.
    fn add(&self, waiting: &mut Waiting, lines: &mut Lines) {
        if !waiting.is_served {
            self.count_lost(waiting.stderr.write_now(lines));
            lines.forget_stderr();
        }
        if waiting.lines.octets() + lines.octets() > MAX_WAITING_OCTETS {
            waiting.lost += lines.count();
            self.count_lost(lines.count());
            return;
        }
        waiting.lines.append(lines);
        if std::mem::take(&mut waiting.is_idle) {
            self.filled.notify_one();
        }
    }

    /// Waits until the lines so far have been written, but not for long: a target may be stuck.
    pub(super) fn flush(&self) {
        let mut waiting = lock(&self.waiting);
        self.collect(&mut waiting);
        let until = waiting.taken + u64::from(!waiting.lines.is_empty());
        let this = std::thread::current().id();
        drop(self.wait(waiting, MAX_FLUSH, |waiting| {
            waiting.done < until && waiting.is_served && waiting.thread != Some(this)
        }));
    }

    /// Ends the log thread after it has written what waits. Returns whether it has ended: a target may be stuck.
    pub(super) fn close(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        self.collect(&mut waiting);
        waiting.is_closed = true;
        self.filled.notify_one();
        let mut waiting = self.wait(waiting, MAX_CLOSE, |waiting| waiting.is_served);
        !std::mem::take(&mut waiting.is_served)
    }

    fn wait<'w>(
        &self,
        mut waiting: MutexGuard<'w, Waiting>,
        limit: Duration,
        condition: impl Fn(&Waiting) -> bool,
    ) -> MutexGuard<'w, Waiting> {
        waiting.awaiting += 1;
        let waited = self
            .written
            .wait_timeout_while(waiting, limit, |waiting| condition(waiting));
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        waiting.awaiting -= 1;
        waiting
    }

    /// Later lines go to another log file, or to none.
    pub(super) fn replace_file(&self, file: Option<LogFile>) {
        let mut waiting = lock(&self.waiting);
        self.collect(&mut waiting);
        let before = waiting.lines.runs();
        waiting.replacements.push((before, file));
        waiting.is_idle = false;
        self.filled.notify_one();
    }

    /// Counts lines that a target did not take.
    pub(super) fn count_lost(&self, lines: u64) {
        self.lost.fetch_add(lines, Ordering::Relaxed);
    }

    /// Lines that were lost since the start.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// The side of the log thread.
impl Queue {
    /// A log thread is about to start.
    pub(super) fn open(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.is_closed = false;
        waiting.is_served = true;
    }

    /// The calling thread is the log thread.
    pub(super) fn serve(&self) {
        lock(&self.waiting).thread = Some(std::thread::current().id());
    }

    /// The log thread ends, has panicked, or could not be started. Lines for stderr are written at once from now on.
    pub(super) fn leave(&self) {
        lock(&self.waiting).is_served = false;
        self.written.notify_all();
    }

    /// The batch has been written: waits for lines, and puts them into it.
    pub(super) fn next(&self, batch: &mut Batch) {
        batch.lines.clear_to(MAX_KEPT_OCTETS);
        batch.replacements.clear();
        let mut waiting = lock(&self.waiting);
        waiting.done = waiting.taken;
        if waiting.awaiting > 0 {
            self.written.notify_all();
        }
        while waiting.lines.is_empty() && !waiting.is_closed && waiting.replacements.is_empty() {
            waiting.is_idle = true;
            waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.taken += 1;
        batch.is_last = waiting.is_closed;
        batch.lost = std::mem::take(&mut waiting.lost);
        std::mem::swap(&mut batch.lines, &mut waiting.lines);
        std::mem::swap(&mut batch.replacements, &mut waiting.replacements);
    }
}

/// Lines of a round beyond this are handed over at once.
const MAX_ROUND_OCTETS: usize = 64 << 10;
/// Lines that wait. What the log thread writes at the same time is as much again.
pub(super) const MAX_WAITING_OCTETS: usize = 4 << 20;
/// Memory that stays when the lines have gone.
const MAX_KEPT_OCTETS: usize = 256 << 10;
/// How long a panic waits until the lines before it are written.
const MAX_FLUSH: Duration = Duration::from_secs(1);
/// How long the end of the server waits for a target that is stuck.
const MAX_CLOSE: Duration = Duration::from_secs(5);
