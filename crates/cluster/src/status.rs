//! What is known of a database and its log, for those who watch.

use ironbark_directory::Closed;

/// The state of a database of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The first suffix, normalized.
    pub suffix: String,
    /// Whether it has once had everything that the log had, and takes writes if etcd does.
    pub is_ready: bool,
    /// Why it cannot follow the log.
    pub closed: Option<Closed>,
    /// Number of the last change that it has.
    pub position: u64,
    /// Number of the last change that the log is known to have.
    pub end: u64,
    /// Batches that this server has appended.
    pub appended: u64,
    /// Times that another server came before it.
    pub overtaken: u64,
    /// Times that etcd did not answer, or refused.
    pub failures: u64,
    /// Octets of a copy of another server's database that have come, and about how many there are. `None`: none comes.
    pub copied: Option<(u64, u64)>,
}
