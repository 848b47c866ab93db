//! Failures of the server itself.

refusals! {
    /// Why the server cannot execute a request, through no fault of the client.
    pub(crate) enum Failure {
        /// Details are in the log only.
        Internal => OTHER, "internal error";
        /// The request is of another kind than its task, or the task ended in a way that it cannot.
        Unexpected => OTHER;
        /// An entry is gone that the same transaction has seen.
        EntryVanished => OTHER, "entry vanished";
        /// Memory is short.
        NoMemory => ADMIN_LIMIT_EXCEEDED, "no memory is left for it";
        /// A password cannot be hashed.
        NotHashed => OTHER, "password hash failed";
        /// The files of a database cannot be written.
        NotFiled => OTHER, "internal error (the file of an entry cannot be written)";
    }
}
