//! Which commit a snapshot shows.

/// The commit that a snapshot shows, among all commits of all databases that this process has opened. Caches are keyed
/// by it. Only an open snapshot tells its own ([`Snapshot::version`](crate::Snapshot::version),
/// [`View::version`](crate::View::version)): there is no way to ask for "the last" version, because a snapshot that is
/// taken at the same time may be older.
///
/// The entries of one version never change. Two versions of one database may show the same entries. The view of an open
/// write transaction has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// The environment, in this process.
    environment: EnvironmentNumber,
    /// LMDB's number of the transaction that was committed.
    commit: u64,
}

/// Tells an open environment from all others that this process has opened, whatever number of schemas it is used under.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EnvironmentNumber(pub(crate) u64);

impl Version {
    pub(crate) fn new(environment: EnvironmentNumber, commit: usize) -> Self {
        Self {
            environment,
            commit: commit as u64,
        }
    }
}
