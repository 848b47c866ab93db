//! cn=Monitor: the state of the server as entries, computed at each search.
//!
//! The tree, its object classes and its attributes are those of slapd's back-monitor. Entries without a counterpart
//! here are left out: every value that is shown is true.

mod change;
mod conflicts;
mod connections;
mod consumers;
mod databases;
mod ironbark;
mod operations;
mod sessions;
mod threads;
mod tree;

use std::sync::{Arc, OnceLock, Weak};

use ironbark_config::Operations;
use ironbark_directory::{
    ChangeAuthor, Configuration, InMemoryTree, OperationError, Service, TreeChange, complete_entries,
};
use ironbark_model::{Dn, Entry, ResultCode};
use ironbark_runtime::{Clock, WallTime};

use self::{
    change::Change,
    tree::{Tree, generalized_time},
};
use crate::{log::Log, log::level, pool::Pool, replication::Replication};

/// The naming context cn=Monitor.
pub(crate) struct Monitor {
    suffix: Dn,
    log: Log,
    clock: Clock,
    started: WallTime,
    facts: Facts,
    server: Arc<Attached>,
}

/// The parts that are made after the directory, which owns the monitor.
pub(crate) type Attached = OnceLock<RunningServer>;

/// See [`Attached`].
pub(crate) struct RunningServer {
    pub(crate) directory: Weak<Service>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) replication: Arc<Replication>,
}

/// Facts that do not change while the server runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Name and URL of each listener.
    pub(crate) listeners: Vec<(Arc<str>, Arc<str>)>,
    /// The limit on open files and sockets of the process.
    pub(crate) max_descriptors: u64,
    /// Names of the overlays that are built in.
    pub(crate) overlays: Vec<String>,
}

impl Monitor {
    pub(crate) fn new(suffix: Dn, log: Log, clock: Clock, facts: Facts, server: Arc<Attached>) -> Self {
        Self {
            suffix,
            log,
            started: clock.now(),
            clock,
            facts,
            server,
        }
    }

    fn base(tree: &mut Tree<'_>) {
        tree.add(&[], "monitorServer", |node| {
            node.set("description", "This subtree contains monitoring/managing objects.");
            node.set("description", "This object contains information about this server.");
            node.set(
                "description",
                "Most of the information is held in operational attributes, which must be explicitly requested.",
            );
            node.set("monitoredInfo", crate::VERSION);
        });
    }

    fn listeners(&self, tree: &mut Tree<'_>) {
        tree.container(
            "Listeners",
            "This subsystem contains information about active listeners.",
            |_| {},
        );
        for (number, (name, url)) in self.facts.listeners.iter().enumerate() {
            tree.add(
                &[&format!("Listener {number}"), "Listeners"],
                "monitoredObject",
                |node| {
                    node.set("monitorConnectionLocalAddress", name);
                    node.set("labeledURI", url);
                },
            );
        }
    }

    fn log(&self, tree: &mut Tree<'_>) {
        tree.container("Log", "This subsystem contains information about logging.", |node| {
            node.set(
                "description",
                "Set the attribute \"managedInfo\" to the desired log levels.",
            );
            for name in level::names(self.log.levels()) {
                node.set("managedInfo", &name);
            }
        });
    }

    fn time(&self, tree: &mut Tree<'_>) {
        let now = self.clock.now();
        tree.container("Time", "This subsystem contains information about time.", |_| {});
        tree.add(&["Start", "Time"], "monitoredObject", |node| {
            node.set("monitorTimestamp", &generalized_time(self.started));
        });
        tree.add(&["Current", "Time"], "monitoredObject", |node| {
            node.set("monitorTimestamp", &generalized_time(now));
        });
        tree.add(&["Uptime", "Time"], "monitoredObject", |node| {
            node.count("monitoredInfo", now.saturating_since(self.started).as_secs());
        });
    }
}

impl InMemoryTree for Monitor {
    fn refreshed(&self, configuration: &Configuration, entry: &Entry, sent: u32) -> Option<Entry> {
        operations::refreshed(&configuration.schema, entry, sent)
    }

    fn writes(&self) -> Operations {
        Operations::MODIFY
    }

    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let TreeChange::Modify { dn, modifications } = change else {
            return Err(OperationError::code(ResultCode::UNWILLING_TO_PERFORM));
        };
        match change::read(by.configuration, self.log.levels(), dn, modifications)? {
            Change::Levels(levels) => self.log.set_levels(levels),
            Change::Restrict(number, refused) => by
                .governor
                .restrict(number, refused)
                .map_err(|error| OperationError::new(ResultCode::OTHER, error.to_string()))?,
            Change::Nothing => {}
        }
        tracing::info!(target: "any", "monitor: {} changed {}", by.dn, dn.pretty());
        Ok(())
    }

    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
        let mut tree = Tree::new(&configuration.schema, &self.suffix, self.started);
        Self::base(&mut tree);
        databases::add_backends(&mut tree, configuration);
        let server = self
            .server
            .get()
            .and_then(|server| Some((server.directory.upgrade()?, &server.pool)));
        let consumers = self.server.get().map(|server| server.replication.status());
        if let Some((_, pool)) = &server {
            connections::add(&mut tree, pool, self.facts.max_descriptors);
        }
        databases::add_databases(
            &mut tree,
            configuration,
            &self.facts.overlays,
            &databases::Replicas {
                consumers: consumers.unwrap_or_default(),
                sessions: server
                    .as_ref()
                    .map(|(directory, _)| directory.sync_sessions())
                    .unwrap_or_default(),
            },
        );
        self.listeners(&mut tree);
        self.log(&mut tree);
        if let Some((directory, _)) = &server {
            operations::add(&mut tree, directory.statistics());
        }
        databases::add_overlays(&mut tree, configuration, &self.facts.overlays);
        tree.container("SASL", "This subsystem contains information about SASL.", |_| {});
        if let Some((directory, pool)) = &server {
            operations::add_statistics(&mut tree, directory.statistics());
            threads::add(&mut tree, pool);
        }
        self.time(&mut tree);
        tree.container("TLS", "This subsystem contains information about TLS.", |_| {});
        if let Some((_, pool)) = &server {
            threads::add_waiters(&mut tree, pool);
        }
        if let Some((directory, pool)) = &server {
            conflicts::add(&mut tree, directory);
            ironbark::add(&mut tree, configuration, directory, pool);
        }
        complete_entries(configuration, tree.finish())
    }
}

fn boolean(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

/// The kinds of database that are built in.
pub const BACKENDS: [&str; 2] = ["monitor", "mdb"];
