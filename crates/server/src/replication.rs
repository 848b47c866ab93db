//! The consumers of this server, as its configuration says.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use ironbark_cluster::{Host, Nodes, RenewalError};
use ironbark_config::syncrepl::Syncrepl;
use ironbark_directory::{ChangeLogPlace, CookiePlace, NamingContext, Service, SyncCookie};
use ironbark_model::{Dn, Schema};
use ironbark_replication::{ConsumerStatus, Consumers, StrictRefreshes, lines};
use ironbark_store::{Database, StoreError};

/// How long searches of a database that is replaced may go on. Others are refused meanwhile.
const GRACE: Duration = Duration::from_secs(1);
/// How long a step of a search may go on after that, and what cannot be ended.
const ENDING: Duration = Duration::from_secs(30);

/// The consumers of this server.
pub(crate) struct Replication {
    directory: Arc<Service>,
    consumers: Consumers,
    nodes: Nodes,
}

impl Replication {
    /// Without consumers, until [`Self::configure`]. `cookies` are those of `slapd -c`.
    pub(crate) fn new(directory: Arc<Service>, cookies: Vec<SyncCookie>, strict: StrictRefreshes) -> Arc<Self> {
        Arc::new_cyclic(|replication| Self {
            consumers: Consumers::new(Arc::clone(&directory), cookies, strict),
            nodes: Nodes::new(Arc::new(OfCopies {
                directory: Arc::clone(&directory),
                replication: Weak::clone(replication),
            })),
            directory,
        })
    }

    /// Lets the consumers run, and follows the logs of clusters, that the configuration in force has.
    pub(crate) fn configure(&self) {
        let configuration = self.directory.configuration();
        self.nodes.run(&configuration);
        self.consumers.run(lines(&configuration, self.directory.server_id()));
    }

    /// What the consumers are doing.
    pub(crate) fn status(&self) -> Vec<ConsumerStatus> {
        self.consumers.status()
    }

    /// Copies that have never had their provider's content, because no refresh has come to its end: the first suffix of
    /// each. Databases that take writes themselves do not count: they may be the first of several servers.
    pub(crate) fn unfilled(&self) -> Vec<String> {
        let (configuration, status) = (self.directory.configuration(), self.status());
        let is_filled = |suffix: &Dn| {
            let mut its = status
                .iter()
                .filter(|status| status.suffix == suffix.pretty())
                .peekable();
            its.peek().is_some() && its.all(|status| status.refreshes > 0)
        };
        let follows = |context: &&Arc<NamingContext>| {
            context.settings.is_shadow() && context.settings.syncrepl.iter().any(|line| !line.is_own)
        };
        let copies = configuration.contexts.iter().filter(follows);
        let suffixes = copies.filter_map(|context| {
            let suffix = context.suffixes().first().filter(|suffix| !is_filled(suffix))?;
            let is_unfilled = has_no_vector(context.database()?) || has_no_place(context);
            is_unfilled.then(|| suffix.pretty().to_owned())
        });
        suffixes.collect()
    }

    /// The databases that are part of clusters.
    pub(crate) fn clusters(&self) -> Vec<ironbark_cluster::Status> {
        self.nodes.status()
    }

    /// Databases of clusters that do not have what their clusters have: the first suffix of each.
    pub(crate) fn behind_clusters(&self) -> Vec<String> {
        let (configuration, status) = (self.directory.configuration(), self.clusters());
        let is_ready = |suffix: &Dn| {
            let its = |status: &&ironbark_cluster::Status| status.suffix.as_bytes() == suffix.normalized();
            status.iter().find(its).is_some_and(|status| status.is_ready)
        };
        let of_clusters = configuration
            .contexts
            .iter()
            .filter(|context| context.settings.cluster.is_some());
        let suffixes = of_clusters.filter_map(|context| context.suffixes().first());
        let behind = suffixes.filter(|suffix| !is_ready(suffix));
        behind.map(|suffix| suffix.pretty().to_owned()).collect()
    }

    /// Ends all consumers, and leaves the clusters.
    pub(crate) fn close(&self) {
        self.nodes.close();
        self.consumers.close();
    }
}

/// What replaces a database by a copy of another server's.
struct OfCopies {
    directory: Arc<Service>,
    replication: Weak<Replication>,
}

impl OfCopies {
    fn configure(&self) {
        if let Some(replication) = self.replication.upgrade() {
            replication.configure();
        }
    }
}

impl Host for OfCopies {
    fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.directory.configuration().schema)
    }

    fn renew(
        &self,
        folder: &Path,
        install: Box<dyn FnOnce() -> Result<(), StoreError> + '_>,
    ) -> Result<(), RenewalError> {
        let begun = self.directory.begin_renewal(folder)?;
        let renewal = begun.ok_or(RenewalError::NotServed)?;
        // Consumers and logs let go of it.
        self.configure();
        let is_closed = renewal.is_closed_within(GRACE) || {
            self.directory.end_searches_of_closed(true);
            let is_closed = renewal.is_closed_within(ENDING);
            self.directory.end_searches_of_closed(false);
            is_closed
        };
        let installed = if is_closed {
            install().map_err(RenewalError::from)
        } else {
            Err(RenewalError::InUse)
        };
        let opened = self.directory.end_renewal(&renewal).map_err(RenewalError::from);
        self.configure();
        installed.and(opened)
    }
}

/// Whether the database follows a server of another kind, and no refresh has come to its end.
fn has_no_place(context: &NamingContext) -> bool {
    let lines = || context.settings.syncrepl.iter();
    lines().any(Syncrepl::follows_changelog) && ChangeLogPlace::of_database(context).is_ok_and(|place| place.is_none())
        || lines().any(|line| line.dir_sync) && CookiePlace::of_database(context).is_ok_and(|place| place.is_none())
}

/// Whether a database has no context vector. One that cannot be read is no reason to wait.
fn has_no_vector(database: &Database) -> bool {
    let vector = database
        .snapshot()
        .and_then(|snapshot| snapshot.view().context_vector());
    vector.is_ok_and(|vector| vector.is_none_or(|vector| vector.is_empty()))
}
