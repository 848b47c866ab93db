//! The consumers that follow a database, in cn=Monitor.

use ironbark_directory::{NamingContext, SyncSession};

use super::tree::{Tree, generalized_time};

/// Adds `cn=Session 1002-1,cn=Database 1,cn=Databases,cn=Monitor` and its like: connection and operation of the search.
pub(super) fn add(tree: &mut Tree<'_>, context: &NamingContext, sessions: &[SyncSession]) {
    let Some(suffix) = context.suffixes().first() else {
        return;
    };
    let is_own = |session: &&SyncSession| *session.consumer.suffix == *suffix.pretty();
    for session in sessions.iter().filter(is_own) {
        let consumer = &session.consumer;
        let names = [
            &*format!("Session {}-{}", consumer.connection, consumer.operation),
            &format!("Database {}", context.number),
            "Databases",
        ];
        tree.add_timed(&names, "monitoredObject", session.started, session.active, |node| {
            node.count("monitorConnectionNumber", consumer.connection);
            node.set("monitorConnectionPeerAddress", &consumer.peer);
            node.set("monitorConnectionAuthzDN", &consumer.identity);
            node.count("ironbarkSyncRid", consumer.rid.into());
            node.count("ironbarkSyncSid", consumer.sid.into());
            node.set("ironbarkSyncBase", &consumer.base);
            node.set("olmSRSyncPhase", if session.persists { "Persist" } else { "Refresh" });
            if let Some((content, places)) = session.told {
                node.set("ironbarkSyncContent", content.word());
                node.set("ironbarkSyncPlaces", places.word());
            }
            for place in &session.places {
                node.set("ironbarkSyncPosition", &format!("{} {}", place.position, place.suffix));
            }
            if !session.places.is_empty() {
                node.count("ironbarkSyncBehind", session.behind());
                node.count("ironbarkSyncLagMs", session.oldest_micros.unwrap_or_default() / 1_000);
            }
            node.count("ironbarkSyncSent", session.entries);
            node.count("ironbarkSyncShared", session.shared);
            node.set("ironbarkSyncActive", &generalized_time(session.active));
        });
    }
}
