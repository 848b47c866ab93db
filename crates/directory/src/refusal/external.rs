//! Refusals of operations on entries that are elsewhere.

refusals! {
    /// Why another program is not asked.
    pub(crate) enum ExternalRefusal {
        /// The access rules do not grant the operation on the entry's name.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// The protocol has no word for an increment: slapd's answer for such a backend.
        Increment => UNWILLING_TO_PERFORM, "modify/increment not supported in context";
    }
}
