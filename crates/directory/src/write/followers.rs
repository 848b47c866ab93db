//! The change stream: every committed record, in commit order, to whoever follows a database.
//!
//! The only source of audit log, access log, replication and live views (DESIGN §3.6).

use crate::{
    Directory, NamingContext, backend::written::Executed, overlay::AfterCommit, request::context::RequestContext,
};

/// Hands a committed record to the followers of its database. Runs on the writer thread, so that the order is the
/// commit order.
pub(crate) fn publish(directory: &Directory, context: &NamingContext, origin: &RequestContext, executed: &Executed) {
    let identity = &origin.identity;
    let after = AfterCommit {
        suffix: context.suffixes().first().map_or("", |suffix| suffix.pretty()),
        author: identity.dn.pretty(),
        peer_name: &origin.peer.name,
        connection: origin.connection,
        authenticated: identity.authentication_dn.as_ref().unwrap_or(&identity.dn).pretty(),
        unix_seconds: directory.clock().now().unix_micros().div_euclid(1_000_000),
        asked: &executed.asked,
    };
    for commits in &context.overlays().commits {
        commits.after_commit(&executed.record, &after);
    }
}
