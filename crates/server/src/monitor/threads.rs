//! cn=Threads and cn=Waiters of cn=Monitor.

use std::sync::atomic::Ordering::Relaxed;

use super::tree::Tree;
use crate::pool::Pool;

pub(super) fn add(tree: &mut Tree<'_>, pool: &Pool) {
    let reactors = pool.reactors() as u64;
    let connections = pool.connections();
    let pending = connections.iter().filter(|status| status.pending.load(Relaxed)).count() as u64;
    // The thread that answers this search is active.
    let active = pool.busy_reactors().max(1) as u64;
    tree.container("Threads", "This subsystem contains information about threads.", |_| {});
    for (name, value, description) in [
        ("Max", reactors, "Maximum number of threads as configured"),
        ("Max Pending", 0, "Maximum number of pending threads"),
        ("Open", reactors, "Number of open threads"),
        ("Starting", 0, "Number of threads being started"),
        ("Active", active, "Number of active threads"),
        ("Pending", pending, "Number of pending threads"),
        ("Backload", active + pending, "Number of active plus pending threads"),
    ] {
        tree.add(&[name, "Threads"], "monitoredObject", |node| {
            node.count("monitoredInfo", value);
            node.set("description", description);
        });
    }
    tree.add(&["State", "Threads"], "monitoredObject", |node| {
        node.set("monitoredInfo", "running");
        node.set("description", "Thread pool state");
    });
    for (name, description) in [
        (
            "Runqueue",
            "Queue of running threads - besides those handling operations",
        ),
        (
            "Tasklist",
            "List of running plus standby threads - besides those handling operations",
        ),
    ] {
        tree.add(&[name, "Threads"], "monitoredObject", |node| {
            node.set("description", description);
        });
    }
}

pub(super) fn add_waiters(tree: &mut Tree<'_>, pool: &Pool) {
    let connections = pool.connections();
    let writing = connections
        .iter()
        .filter(|status| status.is_writing.load(Relaxed))
        .count();
    tree.container(
        "Waiters",
        "This subsystem contains information about read/write waiters.",
        |_| {},
    );
    for (name, value) in [("Read", connections.len() - writing), ("Write", writing)] {
        tree.add(&[name, "Waiters"], "monitorCounterObject", |node| {
            node.count("monitorCounter", value as u64);
        });
    }
}
