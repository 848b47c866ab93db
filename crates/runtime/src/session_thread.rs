//! One thread for sessions that come and go with the configuration. Each session is a task on it.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::{AbortHandle, LocalSet, spawn_local},
};

use crate::spawn_named;

/// The work of a session, or its farewell.
pub type SessionTask = Pin<Box<dyn Future<Output = ()>>>;

/// Sessions of one kind: how one begins, and what is left to do after it. All methods are called on the thread of the
/// sessions; other sessions wait meanwhile.
pub trait Sessions: Clone + Send + 'static {
    /// The name of a session. No two sessions with one name run at the same time.
    type Key: Ord + Clone + Send + Sync + 'static;
    /// What a session is asked to do.
    type Order: Clone + Send + Sync + 'static;
    /// A running session, as other threads see it.
    type Running: Clone + Send + 'static;

    /// Whether a running session already does what the order asks for. If not, it ends and another one begins.
    fn obeys(&self, running: &Self::Running, order: &Self::Order) -> bool;

    /// Makes a session. `None`: it cannot begin, and the implementation has logged why. It is tried again with the next
    /// orders.
    fn begin(&self, key: &Self::Key, order: &Self::Order) -> Option<(Self::Running, SessionTask)>;

    /// The work after the end of a session that has no successor with its name. [`SessionThread::close`] waits for it.
    fn farewell(&self, _running: Self::Running) -> Option<SessionTask> {
        None
    }
}

/// The sessions to run. `None`: the thread ends.
type Orders<S> = Option<BTreeMap<<S as Sessions>::Key, <S as Sessions>::Order>>;

/// The running sessions by name.
type Shown<S> = Arc<Mutex<BTreeMap<<S as Sessions>::Key, <S as Sessions>::Running>>>;

/// A thread that runs the sessions it was last ordered to. It starts with the first order of a session; drop ends it.
pub struct SessionThread<S: Sessions> {
    name: &'static str,
    sessions: S,
    orders: watch::Sender<Orders<S>>,
    shown: Shown<S>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Sessions> SessionThread<S> {
    /// No sessions, and no thread. `name` is the name of the later thread.
    pub fn new(name: &'static str, sessions: S) -> Self {
        Self {
            name,
            sessions,
            orders: watch::Sender::new(Some(BTreeMap::new())),
            shown: Shown::<S>::default(),
            thread: Mutex::default(),
        }
    }

    /// Orders exactly these sessions. A running session that obeys its order continues; one that does not ends, and
    /// another begins; one without an order ends.
    ///
    /// # Errors
    /// The system has no thread for them, or no means to wait on one. The next call tries again.
    pub fn run(&self, orders: BTreeMap<S::Key, S::Order>) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() && orders.is_empty() {
            return Ok(());
        }
        self.orders.send_replace(Some(orders));
        if thread.is_none() {
            *thread = Some(self.start()?);
        }
        Ok(())
    }

    fn start(&self) -> io::Result<JoinHandle<()>> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let worker = Worker {
            sessions: self.sessions.clone(),
            tasks: BTreeMap::new(),
            shown: Arc::clone(&self.shown),
        };
        let orders = self.orders.subscribe();
        spawn_named(self.name, move || worker.serve(&runtime, orders))
    }

    /// What `show` makes of each running session, in the order of the names. A session that could not begin is missing.
    /// `show` delays the thread, so it does short work in memory.
    pub fn status<T>(&self, mut show: impl FnMut(&S::Key, &S::Running) -> T) -> Vec<T> {
        let shown = lock(&self.shown);
        shown.iter().map(|(key, running)| show(key, running)).collect()
    }

    /// Ends all sessions, waits for their farewells, and ends the thread.
    pub fn close(&self) {
        self.orders.send_replace(None);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic was logged before.
            let _ = thread.join();
        }
    }
}

impl<S: Sessions> Drop for SessionThread<S> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The side of the thread.
struct Worker<S: Sessions> {
    sessions: S,
    tasks: BTreeMap<S::Key, (S::Running, AbortHandle)>,
    shown: Shown<S>,
}

impl<S: Sessions> Worker<S> {
    fn serve(mut self, runtime: &Runtime, mut orders: watch::Receiver<Orders<S>>) {
        let tasks = LocalSet::new();
        tasks.block_on(runtime, async {
            loop {
                let next = orders.borrow_and_update().clone();
                let Some(next) = next else { return self.end().await };
                self.obey(&next);
                // Orders may hold databases open.
                drop(next);
                if orders.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn obey(&mut self, orders: &BTreeMap<S::Key, S::Order>) {
        let sessions = &self.sessions;
        self.tasks.retain(|key, (running, task)| {
            let next = orders.get(key);
            let stays = next.is_some_and(|order| sessions.obeys(running, order));
            if !stays {
                task.abort();
            }
            if next.is_none()
                && let Some(farewell) = sessions.farewell(running.clone())
            {
                spawn_local(farewell);
            }
            stays
        });
        lock(&self.shown).retain(|key, _| self.tasks.contains_key(key));
        for (key, order) in orders {
            if self.tasks.contains_key(key) {
                continue;
            }
            // This may read a database: `status` does not wait for it.
            if let Some((running, task)) = self.sessions.begin(key, order) {
                lock(&self.shown).insert(key.clone(), running.clone());
                let task = spawn_local(task).abort_handle();
                self.tasks.insert(key.clone(), (running, task));
            }
        }
    }

    async fn end(&mut self) {
        let ended = std::mem::take(&mut self.tasks);
        let farewells = ended.into_values().filter_map(|(running, task)| {
            task.abort();
            self.sessions.farewell(running).map(spawn_local)
        });
        let farewells: Vec<_> = farewells.collect();
        for farewell in farewells {
            // A panic was printed before.
            let _ = farewell.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change of the content is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::mpsc::{Receiver, Sender, channel},
    };

    use super::*;

    /// Sessions that report their steps. An order is a number; 0 cannot begin.
    #[derive(Clone)]
    struct Reporting(Sender<String>);

    /// Reports the end of a session's task.
    struct Task(Sender<String>, String);

    impl Drop for Task {
        fn drop(&mut self) {
            let _ = self.0.send(format!("end {}", self.1));
        }
    }

    impl Sessions for Reporting {
        type Key = &'static str;
        type Order = u32;
        type Running = (String, u32);

        fn obeys(&self, running: &Self::Running, order: &u32) -> bool {
            running.1 == *order
        }

        fn begin(&self, key: &Self::Key, order: &u32) -> Option<(Self::Running, SessionTask)> {
            let name = format!("{key}{order}");
            let thread = std::thread::current();
            let on = thread.name().unwrap_or_default();
            let _ = self.0.send(format!("begin {name} on {on}"));
            let task = Task(self.0.clone(), name.clone());
            let work = async move {
                let _task = task;
                pending::<()>().await;
            };
            (*order > 0).then_some(((name, *order), Box::pin(work)))
        }

        fn farewell(&self, running: Self::Running) -> Option<SessionTask> {
            let sender = self.0.clone();
            Some(Box::pin(async move {
                tokio::task::yield_now().await;
                let _ = sender.send(format!("farewell {}", running.0));
            }))
        }
    }

    fn thread() -> (SessionThread<Reporting>, Receiver<String>) {
        let (sender, reports) = channel();
        (SessionThread::new("sessions", Reporting(sender)), reports)
    }

    /// The next `count` reports, sorted: tasks and their ends take no particular turns.
    fn next(reports: &Receiver<String>, count: usize) -> Vec<String> {
        let mut next: Vec<_> = (0..count).map(|_| reports.recv().unwrap()).collect();
        next.sort();
        next
    }

    #[test]
    fn a_session_whose_order_stays_continues_and_all_others_end_or_begin() {
        let (thread, reports) = thread();
        thread.run(BTreeMap::from([("a", 1), ("b", 1), ("c", 1)])).unwrap();
        let begun = ["begin a1 on sessions", "begin b1 on sessions", "begin c1 on sessions"];
        assert_eq!(next(&reports, 3), begun);
        thread.run(BTreeMap::from([("a", 1), ("b", 2)])).unwrap();
        // One with a successor takes no leave.
        let then = ["begin b2 on sessions", "end b1", "end c1", "farewell c1"];
        assert_eq!(next(&reports, 4), then);
        assert_eq!(thread.status(|key, running| (*key, running.1)), [("a", 1), ("b", 2)]);
    }

    #[test]
    fn the_end_waits_for_the_farewells() {
        let (thread, reports) = thread();
        thread.run(BTreeMap::from([("a", 1), ("b", 1)])).unwrap();
        assert_eq!(next(&reports, 2), ["begin a1 on sessions", "begin b1 on sessions"]);
        drop(thread);
        // The sender is gone with the thread, so this ends.
        let mut all: Vec<_> = reports.iter().collect();
        all.sort();
        assert_eq!(all, ["end a1", "end b1", "farewell a1", "farewell b1"]);
    }

    #[test]
    fn the_thread_starts_with_the_first_session_and_may_start_again() {
        let (thread, reports) = thread();
        thread.run(BTreeMap::new()).unwrap();
        assert!(lock(&thread.thread).is_none());
        thread.run(BTreeMap::from([("a", 1)])).unwrap();
        assert_eq!(next(&reports, 1), ["begin a1 on sessions"]);
        thread.close();
        assert_eq!(next(&reports, 2), ["end a1", "farewell a1"]);
        thread.run(BTreeMap::from([("a", 2)])).unwrap();
        assert_eq!(next(&reports, 1), ["begin a2 on sessions"]);
    }

    #[test]
    fn a_session_that_cannot_begin_is_tried_again_with_the_next_orders() {
        let (thread, reports) = thread();
        thread.run(BTreeMap::from([("a", 0)])).unwrap();
        assert_eq!(next(&reports, 2), ["begin a0 on sessions", "end a0"]);
        assert!(thread.status(|_, _| ()).is_empty());
        thread.run(BTreeMap::from([("a", 0), ("b", 1)])).unwrap();
        let again = ["begin a0 on sessions", "begin b1 on sessions", "end a0"];
        assert_eq!(next(&reports, 3), again);
    }
}
