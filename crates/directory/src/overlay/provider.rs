//! Providing the content of a database to consumers (RFC 4533).

/// How a database is synchronized. The database must keep its changes
/// ([`OverlaySettings::keeps_changes`](ironbark_config::overlay::OverlaySettings::keeps_changes)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncProvider {
    /// Where the log no longer tells what was deleted, entries that are still there are not named either.
    pub no_present: bool,
    /// Where the log no longer tells what has changed, a client that does not want everything again is told so.
    pub reload_hint: bool,
}

impl SyncProvider {
    /// Whether the database is provided as a log (slapo-accesslog(5)): it has the settings that the log of delta
    /// synchronization needs.
    pub(crate) fn is_of_log(self) -> bool {
        self.reload_hint && self.no_present
    }
}
