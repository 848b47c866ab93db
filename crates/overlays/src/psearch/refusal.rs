//! Refusals of persistent searches.

use ironbark_directory::refusals;

refusals! {
    /// Why a persistent search is refused, or ends.
    pub(super) enum PsearchRefusal {
        /// It is a content synchronization as well.
        Synchronizes => PROTOCOL_ERROR, "persistent search control specified with Sync control";
        /// The search is in pages.
        Paged => PROTOCOL_ERROR, "persistent search control specified with pagedResults control";
        /// The client has taken changes so slowly that the log no longer has the next one.
        Behind => BUSY, "changes are no longer in the log: search again";
    }
}
