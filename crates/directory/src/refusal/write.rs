//! Refusals that all writes share.

refusals! {
    /// Why a write is refused, whichever operation it is.
    pub(crate) enum WriteRefusal {
        /// The entry's name is no DN.
        InvalidDn => INVALID_DN_SYNTAX, "invalid DN";
        /// Anonymous clients change nothing.
        NeedsAuthentication => STRONGER_AUTH_REQUIRED, "modifications require authentication";
        /// No database has the name, and no superior server is known.
        NoSuperiorKnowledge => UNWILLING_TO_PERFORM, "no global superior knowledge";
        /// The request, or its execution, takes more steps than one operation may.
        TooMuchWork => ADMIN_LIMIT_EXCEEDED, "operation takes too much work";
        /// The access rules do not let the client read the entry, and its control for that is critical.
        EntryUnreadable => INSUFFICIENT_ACCESS_RIGHTS;
        /// The database does not have this kind of write: slapd's answer for a backend without the function.
        UnsupportedInContext => UNWILLING_TO_PERFORM, "operation not supported within namingContext";
        /// The entryUUID is that of another entry.
        UsedUuid => CONSTRAINT_VIOLATION, "entryUUID: value is that of another entry";
        /// The change record of another server is stamped more than a day after now.
        TooFarAhead => UNWILLING_TO_PERFORM, "the change lies more than a day ahead of the clock";
        /// New changes would be taken for newer than those that this server made after the copy, and lost.
        Restored => BUSY, "restored from a copy: clients may write after a refresh from each provider";
        /// The database follows another server, and it is not said where that is: slapd's words.
        Shadow => UNWILLING_TO_PERFORM, "shadow context; no update referral";
        /// The resulting entry is bigger than `maxentrysize`.
        EntryTooBig => ADMIN_LIMIT_EXCEEDED, "entry is too big";
        /// A slow hash is missing. No client sees this: the write goes back to get it, and is executed again.
        UncomputedPassword => BUSY, "a password is still to be computed";
        /// The request has the no-op control, and would have succeeded.
        NoOperation => NO_OPERATION;
    }
}
