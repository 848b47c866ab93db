//! cn=Monitor: the state of the server as entries, computed at each search.
//!
//! The tree, its object classes and its attributes are those of slapd's back-monitor. What has no counterpart here is left out: every
//! value that is shown is true.

mod connections;
mod operations;
mod threads;
mod tree;

use std::sync::{Arc, OnceLock, Weak};

use ironbark_config::DatabaseKind;
use ironbark_directory::{Configuration, Context, Directory, VirtualContext, complete_entries};
use ironbark_model::{Dn, Entry};
use ironbark_runtime::{Clock, WallTime};

use self::tree::{Tree, generalized_time};
use crate::{log::Log, log::level, pool::Pool};

/// The naming context cn=Monitor.
pub(crate) struct Monitor {
    suffix: Dn,
    log: Log,
    clock: Clock,
    started: WallTime,
    facts: Facts,
    server: Arc<Attached>,
}

/// What is made after the directory, which owns the monitor.
pub(crate) type Attached = OnceLock<(Weak<Directory>, Arc<Pool>)>;

/// What does not change while the server runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Name and URL of each listener.
    pub(crate) listeners: Vec<(Arc<str>, Arc<str>)>,
    /// How many files and sockets the process may have open.
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

    fn backends(tree: &mut Tree<'_>, configuration: &Configuration) {
        tree.container(
            "Backends",
            "This subsystem contains information about available backends.",
            |node| {
                for kind in BACKENDS {
                    node.set("monitoredInfo", kind);
                }
            },
        );
        for (number, kind) in BACKENDS.iter().enumerate() {
            tree.add(&[&format!("Backend {number}"), "Backends"], "monitoredObject", |node| {
                node.set("monitoredInfo", kind);
                node.set("monitorRuntimeConfig", "FALSE");
                for context in configuration
                    .contexts
                    .iter()
                    .filter(|context| backend_name(context) == *kind)
                {
                    node.set(
                        "seeAlso",
                        &format!("cn=Database {},cn=Databases,cn=Monitor", context.number),
                    );
                }
            });
        }
    }

    fn databases(tree: &mut Tree<'_>, configuration: &Configuration) {
        tree.container(
            "Databases",
            "This subsystem contains information about configured databases.",
            |node| {
                node.set("readOnly", boolean(false));
                for context in &configuration.contexts {
                    suffixes(node, context);
                }
            },
        );
        tree.add(&["Frontend", "Databases"], "monitoredObject", |node| {
            node.set("monitoredInfo", "frontend");
            node.set("monitorIsShadow", boolean(false));
            node.set("readOnly", boolean(configuration.frontend.settings.read_only));
        });
        for context in &configuration.contexts {
            let kind = backend_name(context);
            tree.add(
                &[&format!("Database {}", context.number), "Databases"],
                "monitoredObject",
                |node| {
                    node.set("monitoredInfo", kind);
                    node.set("monitorIsShadow", boolean(false));
                    suffixes(node, context);
                    node.set("readOnly", boolean(context.settings.read_only));
                    if let Some(number) = BACKENDS.iter().position(|known| *known == kind) {
                        node.set("seeAlso", &format!("cn=Backend {number},cn=Backends,cn=Monitor"));
                    }
                },
            );
        }
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
            for name in level::names(self.log.levels()) {
                node.set("managedInfo", &name);
            }
        });
    }

    fn overlays(&self, tree: &mut Tree<'_>) {
        tree.container(
            "Overlays",
            "This subsystem contains information about available overlays.",
            |node| {
                for name in &self.facts.overlays {
                    node.set("monitoredInfo", name);
                }
            },
        );
        for (number, name) in self.facts.overlays.iter().enumerate() {
            tree.add(&[&format!("Overlay {number}"), "Overlays"], "monitoredObject", |node| {
                node.set("monitoredInfo", name);
                node.set("monitorRuntimeConfig", boolean(false));
            });
        }
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

impl VirtualContext for Monitor {
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
        let mut tree = Tree::new(&configuration.schema, &self.suffix, self.started);
        Self::base(&mut tree);
        Self::backends(&mut tree, configuration);
        let server = self
            .server
            .get()
            .and_then(|(directory, pool)| Some((directory.upgrade()?, pool)));
        if let Some((_, pool)) = &server {
            connections::add(&mut tree, pool, self.facts.max_descriptors);
        }
        Self::databases(&mut tree, configuration);
        self.listeners(&mut tree);
        self.log(&mut tree);
        if let Some((directory, _)) = &server {
            operations::add(&mut tree, directory.statistics());
        }
        self.overlays(&mut tree);
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
        complete_entries(configuration, tree.finish())
    }
}

fn backend_name(context: &Context) -> &'static str {
    context.settings.kind.name()
}

fn suffixes(node: &mut tree::Node<'_>, context: &Context) {
    let is_monitor = context.settings.kind == DatabaseKind::Monitor;
    for suffix in context.suffixes() {
        node.set(
            if is_monitor { "monitorContext" } else { "namingContexts" },
            suffix.pretty(),
        );
    }
}

fn boolean(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

/// The kinds of database that are built in.
pub const BACKENDS: [&str; 2] = ["monitor", "mdb"];
