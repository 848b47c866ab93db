//! Refusals of a writer's queue.

use crate::error::SHUTTING_DOWN;

refusals! {
    /// Why a write cannot wait for its writer.
    #[derive(Copy)]
    pub(crate) enum QueueRefusal {
        /// Too many writes are waiting.
        Full => BUSY, "too many writes are waiting";
        /// The server ends.
        ShuttingDown => UNAVAILABLE, SHUTTING_DOWN;
        /// The database is gone.
        Removed => UNAVAILABLE, "database is no longer served";
        /// Its database has become another one's meanwhile.
        ContextsChanged => BUSY, "naming contexts have changed; try again";
    }
}
