//! Refusals of content synchronization.

refusals! {
    /// Why a content synchronization (RFC 4533) is refused, or ends.
    pub(crate) enum SyncRefusal {
        /// Aliases are followed in the search.
        Dereferences => PROTOCOL_ERROR, "illegal value for derefAliases";
        /// The search is in pages.
        Paged => PROTOCOL_ERROR, "Sync control specified with pagedResults control";
        /// The log no longer tells what has changed, and the client does not want everything again.
        StaleCookie => SYNC_REFRESH_REQUIRED, "sync cookie is stale";
        /// The base object is another entry than before, or gone.
        OtherBase => SYNC_REFRESH_REQUIRED, "search base has changed";
        /// The client has changes of this server that the server has not: it was restored from a copy.
        NewerConsumer => UNWILLING_TO_PERFORM, "consumer state is newer than provider!";
        /// The database has no context vector yet.
        NoState => UNWILLING_TO_PERFORM, "consumer has state info but provider doesn't!";
        /// The database was filled by a tool, and its vector is being made.
        NoVectorYet => BUSY, "contextCSN is being made: try again";
        /// The overlay was removed, or the database.
        NoProvider => UNAVAILABLE, "the database no longer provides its changes";
    }
}
