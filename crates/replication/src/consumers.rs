//! All consumers of the server, on one thread.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use ironbark_directory::{Directory, SyncCookie};
use ironbark_runtime::spawn_named;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::{AbortHandle, LocalSet, spawn_local},
};

use crate::{Line, Status, StrictRefreshes, session::Session, status::SharedStatus};

/// A consumer by its database and the number of its line.
type Key = (String, u16);

/// What is to run. `None`: the server ends.
type Wanted = Option<BTreeMap<Key, Arc<Line>>>;

/// The states of the consumers that run.
type Shown = Arc<Mutex<BTreeMap<Key, Arc<SharedStatus>>>>;

/// Cookies that are still to be used.
type Given = Arc<Mutex<BTreeMap<u16, SyncCookie>>>;

/// All consumers of the server. They run on one thread, which is there once there is one; dropping this ends it.
pub struct Consumers {
    directory: Arc<Directory>,
    wanted: watch::Sender<Wanted>,
    shown: Shown,
    /// `slapd -c`: cookies for the first sessions of consumers, by `rid`.
    given: Given,
    strict: StrictRefreshes,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Consumers {
    /// No consumers. `cookies`: what consumers begin with instead of what their databases have (`slapd -c`). Each is
    /// for the first consumer that has its `rid`. `strict` learns of refreshes during which clients must wait.
    pub fn new(directory: Arc<Directory>, cookies: Vec<SyncCookie>, strict: StrictRefreshes) -> Self {
        let keyed = cookies.into_iter().map(|cookie| (cookie.rid, cookie));
        Self {
            directory,
            wanted: watch::Sender::new(Some(BTreeMap::new())),
            shown: Shown::default(),
            given: Arc::new(Mutex::new(keyed.collect())),
            strict,
            thread: Mutex::default(),
        }
    }

    /// Lets exactly these consumers run. One whose line is as it was goes on; one whose line is another begins anew;
    /// one that is not among them ends at once. If the system has no thread for them, the log says so.
    pub fn run(&self, lines: Vec<Line>) {
        let keyed = lines.into_iter().map(|line| (line.key(), Arc::new(line)));
        let wanted: BTreeMap<_, _> = keyed.collect();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() && wanted.is_empty() {
            return;
        }
        self.wanted.send_replace(Some(wanted));
        if thread.is_none() {
            match self.start() {
                Ok(started) => *thread = Some(started),
                Err(error) => tracing::error!(target: "any", "syncrepl: cannot start: {error}"),
            }
        }
    }

    fn start(&self) -> io::Result<JoinHandle<()>> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let hall = Hall {
            directory: Arc::clone(&self.directory),
            running: BTreeMap::new(),
            shown: Arc::clone(&self.shown),
            given: Arc::clone(&self.given),
            strict: self.strict.clone(),
        };
        let told = self.wanted.subscribe();
        spawn_named("syncrepl", move || hall.serve(&runtime, told))
    }

    /// What the consumers are doing, in the order of their databases and numbers.
    pub fn status(&self) -> Vec<Status> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.values().map(|status| status.read()).collect()
    }

    /// Ends all consumers, and the thread.
    pub fn close(&self) {
        self.wanted.send_replace(None);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic was logged before.
            let _ = thread.join();
        }
    }
}

impl Drop for Consumers {
    fn drop(&mut self) {
        self.close();
    }
}

/// The thread's side.
struct Hall {
    directory: Arc<Directory>,
    running: BTreeMap<Key, (Arc<Line>, AbortHandle)>,
    shown: Shown,
    given: Given,
    strict: StrictRefreshes,
}

impl Hall {
    fn serve(mut self, runtime: &Runtime, mut told: watch::Receiver<Wanted>) {
        let sessions = LocalSet::new();
        sessions.block_on(runtime, async {
            loop {
                let wanted = told.borrow_and_update().clone();
                let Some(wanted) = wanted else { return };
                self.become_(&wanted);
                if told.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn become_(&mut self, wanted: &BTreeMap<Key, Arc<Line>>) {
        self.running.retain(|key, (line, task)| {
            let stays = wanted.get(key).is_some_and(|wanted| wanted == line);
            if !stays {
                task.abort();
            }
            stays
        });
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|key, _| self.running.contains_key(key));
        for (key, line) in wanted {
            if self.running.contains_key(key) {
                continue;
            }
            let status = Arc::new(SharedStatus::new(line));
            shown.insert(key.clone(), Arc::clone(&status));
            let given = self
                .given
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&line.rid);
            let session = Session::new(
                Arc::clone(&self.directory),
                Arc::clone(line),
                status,
                given,
                self.strict.clone(),
            );
            let task = spawn_local(session.run()).abort_handle();
            self.running.insert(key.clone(), (Arc::clone(line), task));
        }
    }
}
