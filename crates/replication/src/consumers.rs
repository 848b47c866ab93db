//! All consumers of the server, on one thread.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use ironbark_directory::{Directory, SyncCookie};
use ironbark_runtime::{SessionTask, SessionThread, Sessions};

use crate::{ConsumerStatus, StrictRefreshes, SyncreplLine, session::Session, status::SharedStatus};

/// Cookies that are still to be used.
type Given = Arc<Mutex<BTreeMap<u16, SyncCookie>>>;

/// All consumers of the server. Their thread starts with the first consumer; drop ends it.
pub struct Consumers(SessionThread<ConsumerSessions>);

impl Consumers {
    /// No consumers. `cookies`: what consumers begin with instead of what their databases have (`slapd -c`). Each is
    /// for the first consumer that has its `rid`. `strict` learns of refreshes during which clients must wait.
    pub fn new(directory: Arc<Directory>, cookies: Vec<SyncCookie>, strict: StrictRefreshes) -> Self {
        let keyed = cookies.into_iter().map(|cookie| (cookie.rid, cookie));
        let sessions = ConsumerSessions {
            directory,
            given: Arc::new(Mutex::new(keyed.collect())),
            strict,
        };
        Self(SessionThread::new("syncrepl", sessions))
    }

    /// Lets exactly these consumers run. One whose line is as it was goes on; one whose line is another begins anew;
    /// one that is not among them ends at once. If the system has no thread for them, the log says so.
    pub fn run(&self, lines: Vec<SyncreplLine>) {
        let keyed = lines.into_iter().map(|line| (line.key(), Arc::new(line)));
        if let Err(error) = self.0.run(keyed.collect()) {
            tracing::error!(target: "any", "syncrepl: cannot start: {error}");
        }
    }

    /// What the consumers are doing, in the order of their databases and numbers.
    pub fn status(&self) -> Vec<ConsumerStatus> {
        self.0.status(|_, running| running.status.read())
    }

    /// Ends all consumers, and the thread.
    pub fn close(&self) {
        self.0.close();
    }
}

/// How consumers begin.
#[derive(Clone)]
struct ConsumerSessions {
    directory: Arc<Directory>,
    /// `slapd -c`: cookies for the first sessions of consumers, by `rid`.
    given: Given,
    strict: StrictRefreshes,
}

/// A consumer that runs.
#[derive(Clone)]
struct RunningConsumer {
    line: Arc<SyncreplLine>,
    status: Arc<SharedStatus>,
}

impl Sessions for ConsumerSessions {
    /// A consumer by its database and the number of its line.
    type Key = (String, u16);
    type Order = Arc<SyncreplLine>;
    type Running = RunningConsumer;

    fn obeys(&self, running: &RunningConsumer, line: &Arc<SyncreplLine>) -> bool {
        running.line == *line
    }

    fn begin(&self, _: &(String, u16), line: &Arc<SyncreplLine>) -> Option<(RunningConsumer, SessionTask)> {
        let status = Arc::new(SharedStatus::new(line));
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let session = Session::new(
            Arc::clone(&self.directory),
            Arc::clone(line),
            Arc::clone(&status),
            given.remove(&line.rid),
            self.strict.clone(),
        );
        let line = Arc::clone(line);
        Some((RunningConsumer { line, status }, Box::pin(session.run())))
    }
}
