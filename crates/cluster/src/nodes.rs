//! All databases of the server that are part of a cluster, on one thread.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use ironbark_config::{DatabaseConfig, cluster::ClusterConfig};
use ironbark_directory::{Configuration, NamingContext, Seat};
use ironbark_runtime::spawn_named;
use ironbark_store::{Database, LogPlace, StoreError};
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::{AbortHandle, LocalSet, spawn_local},
};

use crate::{
    Host, Status, announce::farewell, log::Shared, membership::Membership, session::Session, tree::TreeSession,
};

/// A database of a cluster.
#[derive(Clone)]
struct Member {
    config: Arc<ClusterConfig>,
    seat: Seat,
    context: Arc<NamingContext>,
    /// Where the server has entries: those of this database, or of another one.
    folder: Option<PathBuf>,
}

/// What is to run, by suffix. `None`: the server ends.
type Wanted = Option<BTreeMap<String, Member>>;

/// What is known of the logs, by suffix.
type Shown = Arc<Mutex<BTreeMap<String, Arc<Shared>>>>;

/// The clusters of this server. They are served by one thread, which is there once there is one; dropping this ends it.
pub struct Nodes {
    wanted: watch::Sender<Wanted>,
    shown: Shown,
    thread: Mutex<Option<JoinHandle<()>>>,
    host: Arc<dyn Host>,
}

impl Nodes {
    /// Of a server. There are none yet.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self {
            host,
            wanted: watch::Sender::new(Some(BTreeMap::new())),
            shown: Shown::default(),
            thread: Mutex::default(),
        }
    }

    /// Follows exactly the logs that a configuration names. One whose settings are as they were goes on.
    pub fn run(&self, configuration: &Configuration) {
        let mut all = configuration.contexts.iter().map(|context| &context.settings);
        let folder_of = |settings: &DatabaseConfig| settings.kind.is_stored().then(|| settings.directory.clone());
        let any_folder = all.find_map(folder_of);
        let members = configuration.contexts.iter().filter_map(|context| {
            let config = Arc::new(context.settings.cluster.clone()?);
            let suffix = context.suffixes().first()?;
            let seat = Seat::of(context)?;
            let name = String::from_utf8_lossy(suffix.normalized()).into_owned();
            let folder = folder_of(&context.settings).or_else(|| any_folder.clone());
            let context = Arc::clone(context);
            let member = Member {
                config,
                seat,
                context,
                folder,
            };
            Some((name, member))
        });
        let wanted: BTreeMap<_, _> = members.collect();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() && wanted.is_empty() {
            return;
        }
        self.wanted.send_replace(Some(wanted));
        if thread.is_none() {
            match self.start() {
                Ok(started) => *thread = Some(started),
                Err(error) => tracing::error!(target: "any", "cluster: cannot start: {error}"),
            }
        }
    }

    fn start(&self) -> io::Result<JoinHandle<()>> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let told = self.wanted.subscribe();
        let hall = Hall {
            running: BTreeMap::new(),
            shown: Arc::clone(&self.shown),
            host: Arc::clone(&self.host),
        };
        spawn_named("cluster", move || hall.serve(&runtime, told))
    }

    /// The state of each database of a cluster. One that has not begun is not among them.
    pub fn status(&self) -> Vec<Status> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.iter().map(|(suffix, shared)| shared.status(suffix)).collect()
    }

    /// Ends all, and the thread.
    pub fn close(&self) {
        self.wanted.send_replace(None);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic was logged before.
            let _ = thread.join();
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.close();
    }
}

/// The thread's side.
struct Hall {
    running: BTreeMap<String, (Arc<Membership>, AbortHandle)>,
    shown: Shown,
    host: Arc<dyn Host>,
}

impl Hall {
    fn serve(mut self, runtime: &Runtime, mut told: watch::Receiver<Wanted>) {
        let sessions = LocalSet::new();
        sessions.block_on(runtime, async {
            loop {
                let wanted = told.borrow_and_update().clone();
                let Some(wanted) = wanted else { return self.end().await };
                self.become_(&wanted);
                drop(wanted);
                if told.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn become_(&mut self, wanted: &BTreeMap<String, Member>) {
        self.running.retain(|suffix, (running, task)| {
            let is_same = |member: &Member| member.config == running.config && member.seat.is_same(&running.seat);
            let next = wanted.get(suffix);
            let stays = next.is_some_and(is_same);
            if !stays {
                task.abort();
            }
            if next.is_none() {
                let gone = Arc::clone(running);
                spawn_local(async move { farewell(&gone).await });
            }
            stays
        });
        let shown = Arc::clone(&self.shown);
        let shown = || shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown().retain(|suffix, _| self.running.contains_key(suffix));
        for (suffix, member) in wanted {
            if self.running.contains_key(suffix) {
                continue;
            }
            // This reads the database: cn=Monitor does not wait for it.
            match self.begin(suffix, member) {
                Ok((begun, task)) => {
                    shown().insert(suffix.clone(), Arc::clone(&begun.shared));
                    self.running.insert(suffix.clone(), (begun, task));
                }
                Err(error) => tracing::error!(target: "any", "cluster: {suffix}: {error}"),
            }
        }
    }

    /// Ends all sessions, and tells the others.
    async fn end(&mut self) {
        let ended = std::mem::take(&mut self.running);
        let farewells = ended.into_values().map(|(member, task)| {
            task.abort();
            spawn_local(async move { farewell(&member).await })
        });
        let farewells: Vec<_> = farewells.collect();
        for farewell in farewells {
            // A panic was printed before.
            let _ = farewell.await;
        }
    }

    /// Begins a session.
    fn begin(&self, suffix: &str, member: &Member) -> Result<(Arc<Membership>, AbortHandle), StoreError> {
        let (config, context) = (Arc::clone(&member.config), &member.context);
        let seat = (member.seat.clone(), member.folder.as_deref());
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
        if let Some(tree) = context.tree() {
            let session = TreeSession::new(suffix, config, id, seat, Arc::clone(tree));
            return Ok((session.member(), spawn_local(session.run()).abort_handle()));
        }
        let state = context.database().map(|database| state(database)).transpose()?;
        let session = Session::new(
            suffix,
            config,
            id,
            state.unwrap_or_default(),
            seat,
            (Arc::clone(context), Arc::clone(&self.host)),
        );
        Ok((session.member(), spawn_local(session.run()).abort_handle()))
    }
}

/// Where the database is, and whether it was ever of a cluster.
fn state(database: &Database) -> Result<(LogPlace, bool), StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    Ok((view.log_place()?, view.is_of_a_cluster()?))
}
