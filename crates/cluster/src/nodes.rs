//! All databases of the server that are part of a cluster, on one thread.

use std::{path::PathBuf, sync::Arc};

use ironbark_config::{DatabaseConfig, cluster::ClusterConfig};
use ironbark_directory::{Configuration, NamingContext, Seat};
use ironbark_runtime::{SessionTask, SessionThread, Sessions};
use ironbark_store::{ClusterLogPlace, Database, StoreError};

use crate::{Host, Status, announce::farewell, membership::Membership, session::Session, tree::TreeSession};

/// A database of a cluster.
#[derive(Clone)]
struct Member {
    config: Arc<ClusterConfig>,
    seat: Seat,
    context: Arc<NamingContext>,
    /// Where the server has entries: those of this database, or of another one.
    folder: Option<PathBuf>,
}

/// The clusters of this server. Their thread starts with the first database of a cluster; drop ends it.
pub struct Nodes(SessionThread<MemberSessions>);

impl Nodes {
    /// Of a server. There are none yet.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self(SessionThread::new("cluster", MemberSessions { host }))
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
        if let Err(error) = self.0.run(members.collect()) {
            tracing::error!(target: "any", "cluster: cannot start: {error}");
        }
    }

    /// The state of each database of a cluster. One that has not begun is not among them.
    pub fn status(&self) -> Vec<Status> {
        self.0.status(|suffix, member| member.shared.status(suffix))
    }

    /// Ends all, and the thread.
    pub fn close(&self) {
        self.0.close();
    }
}

/// How the sessions of databases begin and end.
#[derive(Clone)]
struct MemberSessions {
    host: Arc<dyn Host>,
}

impl Sessions for MemberSessions {
    /// The suffix.
    type Key = String;
    type Order = Member;
    type Running = Arc<Membership>;

    fn obeys(&self, running: &Arc<Membership>, member: &Member) -> bool {
        member.config == running.config && member.seat.is_same(&running.seat)
    }

    fn begin(&self, suffix: &String, member: &Member) -> Option<(Arc<Membership>, SessionTask)> {
        let begun = self.session_of(suffix, member);
        begun
            .inspect_err(|error| tracing::error!(target: "any", "cluster: {suffix}: {error}"))
            .ok()
    }

    /// Tells the other servers that this one has ended.
    fn farewell(&self, member: Arc<Membership>) -> Option<SessionTask> {
        Some(Box::pin(async move { farewell(&member).await }))
    }
}

impl MemberSessions {
    fn session_of(&self, suffix: &str, member: &Member) -> Result<(Arc<Membership>, SessionTask), StoreError> {
        let (config, context) = (Arc::clone(&member.config), &member.context);
        let (seat, folder) = (member.seat.clone(), member.folder.as_deref());
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
        if let Some(tree) = context.tree() {
            let session = TreeSession::new(suffix, config, id, seat, folder, Arc::clone(tree));
            return Ok((session.member(), Box::pin(session.run())));
        }
        let state = context.database().map(|database| state(database)).transpose()?;
        let (place, belongs) = state.unwrap_or_default();
        let membership = Membership::new(suffix, config, id, place, belongs, seat, folder);
        let session = Session::new(membership, Arc::clone(context), Arc::clone(&self.host));
        Ok((session.member(), Box::pin(session.run())))
    }
}

/// Where the database is, and whether it was ever of a cluster.
fn state(database: &Database) -> Result<(ClusterLogPlace, bool), StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    Ok((view.log_place()?, view.is_of_a_cluster()?))
}
