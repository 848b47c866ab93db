//! Refusals of transactions.

refusals! {
    /// Why a transaction (RFC 5805), or an update of one, is refused.
    pub(crate) enum TransactionRefusal {
        /// There is one already.
        TooMany => BUSY, "Too many transactions";
        /// There is none with this identifier.
        NoSuch => TRANSACTION_IDENTIFIER_INVALID, "invalid transaction identifier";
        /// It has no updates.
        Empty => OPERATIONS_ERROR, "no updates to commit";
        /// An update is for another database than those before.
        SeveralDatabases => AFFECTS_MULTIPLE_DSAS, "transaction cannot span multiple database contexts";
        /// The database has none.
        UnsupportedInContext => UNWILLING_TO_PERFORM, "backend doesn't support transactions";
        /// It has too many updates, or they are too long.
        TooBig => ADMIN_LIMIT_EXCEEDED, "the transaction has too many updates, or they are too long";
        /// All open transactions together are too long.
        NoRoom => BUSY, "too many updates wait in transactions";
    }
}
