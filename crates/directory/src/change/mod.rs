//! The change stream: every committed record, in commit order, to whoever follows a database.
//!
//! The only source of audit log, access log, replication and live views (DESIGN §3.6).

use ironbark_store::ChangeRecord;

use crate::{Context, operation::Origin, overlay::AfterCommit};

/// Hands a committed record to the followers of its database. Runs on the writer thread, so that the order is the commit order.
pub(crate) fn publish(context: &Context, origin: &Origin, record: &ChangeRecord) {
    let after = AfterCommit {
        suffix: context.suffixes().first().map_or("", |suffix| suffix.pretty()),
        author: origin.identity.dn.pretty(),
        peer_name: &origin.peer.name,
        connection: origin.connection,
    };
    for overlay in context.overlays.after_commit() {
        overlay.after_commit(record, &after);
    }
}
