//! Refusals of writes in a cluster.

refusals! {
    /// Why a write did not come into the log of a cluster.
    #[derive(Copy)]
    pub(crate) enum ClusterRefusal {
        /// The log was not reached yet.
        NotJoined => BUSY, "this server has not joined its cluster yet";
        /// Another database, or a log that has lost changes.
        Diverged => UNAVAILABLE, "database and log of the cluster differ; see the log of the server";
        /// The log no longer has what the database lacks.
        TooOld => UNAVAILABLE, "database is older than the log of the cluster; see the log of the server";
        /// A later version of this program has made the log.
        Newer => UNAVAILABLE, "the log of the cluster is of a later version; this server must be upgraded";
        /// Reads are bounded, and etcd was not heard of for longer.
        Old => BUSY, "the data may be older than allowed: this server does not hear from its cluster";
        /// No turn, or no answer, in time.
        Late => BUSY, "the log of the cluster does not answer; nothing was changed";
        /// The change may have been made.
        Unknown => UNAVAILABLE, "outcome unknown: the log of the cluster does not answer; read the entry";
        /// What others have written cannot be applied here.
        CannotFollow => UNAVAILABLE, "this server cannot apply the changes of the cluster; see its log";
        /// Others changed a tree again and again.
        Overtaken => BUSY, "other servers of the cluster make changes at the same time; nothing was changed";
        /// A copy is put in the place of the database.
        Replaced => UNAVAILABLE, "the database is being replaced by a copy of another server's; try again";
        /// The change was made, but this server cannot show it.
        NotHere => UNAVAILABLE, "the cluster has made the change, but this server cannot apply it";
    }
}
