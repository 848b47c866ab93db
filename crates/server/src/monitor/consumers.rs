//! The consumers of a database in cn=Monitor, as slapd shows them, and why they failed.

use ironbark_directory::NamingContext;
use ironbark_replication::{ConsumerStatus, Phase};
use ironbark_runtime::WallTime;

use super::tree::{Tree, generalized_time};

/// What slapd shows of a time that never was.
const NEVER: &str = "00000101000000Z";

/// Adds `cn=Consumer 001,cn=Database 1,cn=Databases,cn=Monitor` and its like.
pub(super) fn add(tree: &mut Tree<'_>, context: &NamingContext, consumers: &[ConsumerStatus]) {
    let is_own = |status: &&ConsumerStatus| context.suffixes().iter().any(|suffix| suffix.pretty() == status.suffix);
    let time = |time: Option<WallTime>| time.map_or_else(|| NEVER.to_owned(), generalized_time);
    for status in consumers.iter().filter(is_own) {
        let names = [
            &*format!("Consumer {}", status.name(3)),
            &format!("Database {}", context.number),
            "Databases",
        ];
        tree.add(&names, "olmSyncReplInstance", |node| {
            node.set("olmSRProviderURIList", &status.providers);
            node.set("olmSRConnection", status.connection.as_deref().unwrap_or_default());
            let phase = match status.phase {
                Phase::Persist => "Persist",
                Phase::Disconnected | Phase::Refresh => "Refresh",
            };
            node.set("olmSRSyncPhase", phase);
            node.set("olmSRNextConnect", &time(status.next_connect));
            node.set("olmSRLastConnect", &time(status.last_connect));
            node.set("olmSRLastContact", &time(status.last_contact));
            node.set("olmSRLastCookieRcvd", &status.cookie_received);
            node.set("olmSRLastCookieSent", &status.cookie_sent);
            if let Some(error) = &status.last_error {
                node.set("ironbarkSyncError", error);
            }
            // cn=config has no places.
            if context.database().is_some() {
                if let Some(content) = status.content {
                    node.set("ironbarkSyncContent", content.word());
                }
                node.set("ironbarkSyncPlaces", status.places.word());
            }
            node.count("ironbarkSyncRefreshes", status.refreshes);
            node.count("ironbarkSyncEntries", status.entries);
            node.count("ironbarkSyncDeletes", status.deletes);
        });
    }
}
