//! cn=Connections,cn=Monitor.

use std::sync::atomic::Ordering::Relaxed;

use ironbark_runtime::WallTime;

use super::tree::{Tree, generalized_time};
use crate::{connection::Status, pool::Pool};

pub(super) fn add(tree: &mut Tree<'_>, pool: &Pool, max_descriptors: u64) {
    tree.container(
        "Connections",
        "This subsystem contains information about connections.",
        |_| {},
    );
    for status in pool.connections() {
        add_connection(tree, &status);
    }
    for (name, value) in [
        ("Max File Descriptors", max_descriptors),
        ("Total", pool.total()),
        ("Current", pool.current() as u64),
    ] {
        tree.add(&[name, "Connections"], "monitorCounterObject", |node| {
            node.count("monitorCounter", value);
        });
    }
}

fn add_connection(tree: &mut Tree<'_>, status: &Status) {
    let name = format!("Connection {}", status.number);
    let (started, active) = (seconds(status.started), seconds(status.active.load(Relaxed)));
    tree.add_timed(&[&name, "Connections"], "monitorConnection", started, active, |node| {
        let (received, executing) = (status.received.load(Relaxed), u64::from(status.executing.load(Relaxed)));
        let (reads, waits) = (status.reads.load(Relaxed), status.write_waits.load(Relaxed));
        node.count("monitorConnectionNumber", status.number);
        node.count("monitorConnectionProtocol", status.protocol.load(Relaxed).into());
        node.count("monitorConnectionOpsReceived", received);
        node.count("monitorConnectionOpsExecuting", executing);
        node.count("monitorConnectionOpsPending", status.pending.load(Relaxed).into());
        node.count("monitorConnectionOpsCompleted", received.saturating_sub(executing));
        node.count("monitorConnectionOpsAsync", 0);
        node.count("monitorConnectionGet", reads.saturating_add(waits));
        node.count("monitorConnectionRead", reads);
        node.count("monitorConnectionWrite", waits);
        node.set(
            "monitorConnectionMask",
            if status.is_writing.load(Relaxed) { "rwx" } else { "rx" },
        );
        if let Some(name) = status.authorization_name() {
            node.set("monitorConnectionAuthzDN", &name);
        }
        node.set("monitorConnectionListener", &status.peer.listener_url);
        node.set(
            "monitorConnectionPeerDomain",
            if status.peer.address.is_some() {
                "unknown"
            } else {
                "local"
            },
        );
        node.set("monitorConnectionPeerAddress", &status.peer.name);
        node.set("monitorConnectionLocalAddress", &status.peer.socket_name);
        node.set("monitorConnectionStartTime", &generalized_time(started));
        node.set("monitorConnectionActivityTime", &generalized_time(active));
    });
}

fn seconds(seconds: i64) -> WallTime {
    WallTime::from_unix_micros(seconds.saturating_mul(1_000_000))
}
