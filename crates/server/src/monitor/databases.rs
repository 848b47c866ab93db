//! cn=Backends, cn=Databases and cn=Overlays of cn=Monitor.

use ironbark_config::{
    Operations, OverlayConfig,
    database::{DatabaseDescriptor, EntryPlace},
    kinds::{CONFIG, MONITOR},
};
use ironbark_directory::{Configuration, NamingContext, SyncSession};
use ironbark_replication::ConsumerStatus;

use super::{
    boolean, consumers, sessions,
    tree::{Node, Tree},
};

/// Who follows whom.
pub(super) struct Replicas {
    /// The consumers here, which follow other servers.
    pub(super) consumers: Vec<ConsumerStatus>,
    /// Those that follow databases of this server.
    pub(super) sessions: Vec<SyncSession>,
}

/// The types of databases, in slapd's order. Those whose entries are elsewhere are modules of slapd: each is there
/// when the module is loaded, or a database has the type.
fn backends(configuration: &Configuration) -> impl Iterator<Item = &'static DatabaseDescriptor> {
    let registry = &configuration.registry;
    let is_there = |kind: &&&DatabaseDescriptor| match kind.entries {
        EntryPlace::Frontend => false,
        EntryPlace::Elsewhere => {
            let mut modules = configuration.settings.modules.iter();
            let is_its = |module: &String| {
                let name = module.split_whitespace().next();
                let part = name.and_then(|name| registry.parts().module(name));
                // An overlay of this name has the same module.
                part.is_some_and(|part| part.name == kind.name)
            };
            let mut contexts = configuration.contexts.iter();
            modules.any(is_its) || contexts.any(|context| context.settings.kind == **kind)
        }
        _ => true,
    };
    registry.databases().iter().filter(is_there).copied()
}

pub(super) fn add_backends(tree: &mut Tree<'_>, configuration: &Configuration) {
    tree.container(
        "Backends",
        "This subsystem contains information about available backends.",
        |node| backends(configuration).for_each(|kind| node.set("monitoredInfo", kind.name)),
    );
    for (number, kind) in backends(configuration).enumerate() {
        tree.add(&[&format!("Backend {number}"), "Backends"], "monitoredObject", |node| {
            node.set("monitoredInfo", kind.name);
            node.set("monitorRuntimeConfig", boolean(true));
            let controls = match kind.entries {
                EntryPlace::Store => STORED_CONTROLS,
                EntryPlace::Nowhere => NULL_CONTROLS,
                EntryPlace::Elsewhere => &[],
                _ => &[MANAGE_DSA_IT],
            };
            for oid in controls {
                node.set("supportedControl", oid);
            }
            if kind == &CONFIG && !has_config(configuration) {
                node.set("seeAlso", &database_name(0));
            }
            let of_kind = |context: &&std::sync::Arc<NamingContext>| context.settings.kind == kind;
            for context in configuration.contexts.iter().filter(of_kind) {
                node.set("seeAlso", &database_name(context.number));
            }
        });
    }
}

pub(super) fn add_databases(
    tree: &mut Tree<'_>,
    configuration: &Configuration,
    overlays: &[String],
    replicas: &Replicas,
) {
    let frontend = &configuration.frontend;
    tree.container(
        "Databases",
        "This subsystem contains information about configured databases.",
        |node| {
            restrictions(node, frontend);
            node.set("namingContexts", "");
            if !has_config(configuration) {
                node.set("namingContexts", "cn=config");
            }
            configuration
                .contexts
                .iter()
                .for_each(|context| suffixes(node, context));
        },
    );
    tree.add(&["Frontend", "Databases"], "monitoredObject", |node| {
        node.set("monitoredInfo", "frontend");
        node.set("monitorIsShadow", boolean(false));
        node.set("namingContexts", "");
        restrictions(node, frontend);
    });
    if !has_config(configuration) {
        tree.add(&["Database 0", "Databases"], "monitoredObject", |node| {
            node.set("monitoredInfo", "config");
            node.set("monitorIsShadow", boolean(false));
            node.set("namingContexts", "cn=config");
            node.set("readOnly", boolean(false));
            see_backend(node, configuration, &CONFIG);
        });
    }
    for context in &configuration.contexts {
        add_database(tree, configuration, context, overlays);
        consumers::add(tree, context, &replicas.consumers);
        sessions::add(tree, context, &replicas.sessions);
    }
}

/// Whether cn=config is among the databases that the directory serves; it exists in any case.
fn has_config(configuration: &Configuration) -> bool {
    configuration
        .contexts
        .iter()
        .any(|context| context.settings.kind == &CONFIG)
}

fn add_database(tree: &mut Tree<'_>, configuration: &Configuration, context: &NamingContext, overlays: &[String]) {
    let name = format!("Database {}", context.number);
    let used = overlays_of(configuration, context);
    let overlay_name = |overlay: &str| {
        let number = overlays.iter().position(|known| known == overlay);
        number.map(|number| format!("cn=Overlay {number},cn=Overlays,cn=Monitor"))
    };
    let class = "monitoredObject";
    tree.add(&[&name, "Databases"], class, |node| {
        let stat = context
            .database()
            .filter(|_| context.settings.monitoring && context.settings.kind.has_indexes())
            .and_then(|database| database.stat().ok());
        if stat.is_some() {
            node.set("objectClass", "olmMDBDatabase");
        }
        node.set("monitoredInfo", context.settings.kind.name);
        node.set("monitorIsShadow", boolean(context.settings.is_shadow()));
        if let Some(url) = context.settings.update_referrals.first() {
            node.set("monitorUpdateRef", url);
        }
        suffixes(node, context);
        if let Some(root) = configuration.glue_root_of(context) {
            root.suffixes()
                .iter()
                .for_each(|suffix| node.set("monitorSuperiorDN", suffix.pretty()));
        }
        restrictions(node, context);
        for overlay in &used {
            node.set("monitorOverlay", overlay);
        }
        used.iter()
            .filter_map(|overlay| overlay_name(overlay))
            .for_each(|overlay| node.set("seeAlso", &overlay));
        see_backend(node, configuration, context.settings.kind);
        if let Some(stat) = stat {
            node.count("olmMDBPagesMax", stat.pages_max);
            node.count("olmMDBPagesUsed", stat.pages_used);
            node.count("olmMDBPagesFree", stat.pages_free);
            node.count("olmMDBReadersMax", stat.readers_max.into());
            node.count("olmMDBReadersUsed", stat.readers_used.into());
            node.count("olmMDBEntries", stat.entries);
            node.set("olmDbDirectory", &directory_of(context));
        }
    });
    for (number, overlay) in used.iter().enumerate() {
        tree.add(&[&format!("Overlay {number}"), &name, "Databases"], class, |node| {
            node.set("monitoredInfo", overlay);
            if let Some(overlay) = overlay_name(overlay) {
                node.set("seeAlso", &overlay);
            }
            suffixes(node, context);
        });
    }
}

pub(super) fn add_overlays(tree: &mut Tree<'_>, configuration: &Configuration, overlays: &[String]) {
    tree.container(
        "Overlays",
        "This subsystem contains information about available overlays.",
        |node| overlays.iter().for_each(|name| node.set("monitoredInfo", name)),
    );
    for (number, name) in overlays.iter().enumerate() {
        tree.add(&[&format!("Overlay {number}"), "Overlays"], "monitoredObject", |node| {
            node.set("monitoredInfo", name);
            let is_configured = configuration.registry.overlay(name).is_some();
            node.set("monitorRuntimeConfig", boolean(is_configured));
            for context in &configuration.contexts {
                if overlays_of(configuration, context).iter().any(|used| used == name) {
                    node.set("seeAlso", &database_name(context.number));
                }
            }
        });
    }
}

/// Overlays of a database in slapd's order: the overlay that sees a request first comes first. The overlay that glues
/// other databases comes before them.
fn overlays_of(configuration: &Configuration, context: &NamingContext) -> Vec<&'static str> {
    let is_glued = configuration.subordinates_of(context).next().is_some();
    let configured = context.settings.overlays.iter().rev();
    let names = configured.map(OverlayConfig::name);
    is_glued.then_some(GLUE).into_iter().chain(names).collect()
}

fn database_name(number: impl std::fmt::Display) -> String {
    format!("cn=Database {number},cn=Databases,cn=Monitor")
}

fn see_backend(node: &mut Node<'_>, configuration: &Configuration, kind: &'static DatabaseDescriptor) {
    if let Some(number) = backends(configuration).position(|known| known == kind) {
        node.set("seeAlso", &format!("cn=Backend {number},cn=Backends,cn=Monitor"));
    }
}

fn suffixes(node: &mut Node<'_>, context: &NamingContext) {
    let is_monitor = context.settings.kind == &MONITOR;
    let attribute = if is_monitor { "monitorContext" } else { "namingContexts" };
    for suffix in context.suffixes() {
        node.set(attribute, suffix.pretty());
    }
}

/// Operations that a database refuses.
pub(super) fn restricted(context: &NamingContext) -> Operations {
    let operations = context.settings.restrict.operations;
    if context.settings.read_only {
        operations.with(Operations::WRITE)
    } else {
        operations
    }
}

/// Adds `readOnly` and the restricted operations.
fn restrictions(node: &mut Node<'_>, context: &NamingContext) {
    let restricted = restricted(context);
    node.set("readOnly", boolean(restricted.contains(Operations::WRITE)));
    for (name, operation) in RESTRICTABLE {
        if restricted.contains(operation) {
            node.set("restrictedOperation", name);
        }
    }
    for oid in &context.settings.restrict.extended {
        node.set("restrictedOperation", oid);
    }
}

/// The directory as slapd names it: absolute, with a separator at its end.
fn directory_of(context: &NamingContext) -> String {
    let directory = &context.settings.directory;
    let path = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    format!("{}/", path.display().to_string().trim_end_matches('/'))
}

/// The overlay of databases with `subordinate` databases below them.
const GLUE: &str = "glue";

/// Operations by their names in `restrictedOperation`.
pub(super) const RESTRICTABLE: [(&str, Operations); 8] = [
    ("add", Operations::ADD),
    ("bind", Operations::BIND),
    ("compare", Operations::COMPARE),
    ("delete", Operations::DELETE),
    ("extended", Operations::EXTENDED),
    ("modify", Operations::MODIFY),
    ("rename", Operations::RENAME),
    ("search", Operations::SEARCH),
];

const MANAGE_DSA_IT: &str = "2.16.840.1.113730.3.4.2";

/// In slapd's order.
const STORED_CONTROLS: &[&str] = &[
    "1.3.6.1.1.12",
    MANAGE_DSA_IT,
    "1.3.6.1.4.1.4203.666.5.2",
    "1.2.840.113556.1.4.319",
    "1.3.6.1.1.13.1",
    "1.3.6.1.1.13.2",
    "1.3.6.1.4.1.4203.1.10.1",
    "1.2.840.113556.1.4.1413",
];

const NULL_CONTROLS: &[&str] = &[
    "1.3.6.1.1.12",
    MANAGE_DSA_IT,
    "1.3.6.1.4.1.4203.666.5.2",
    "1.2.840.113556.1.4.319",
    "1.3.6.1.4.1.4203.1.10.1",
    "1.3.6.1.1.13.1",
    "1.3.6.1.1.13.2",
    "1.2.840.113556.1.4.1413",
];
