//! Refusals of extended operations.

refusals! {
    /// Why an extended operation is refused (RFC 4511 §4.12), except password modify.
    pub(crate) enum ExtendedRefusal {
        /// There is no such operation.
        Unsupported => PROTOCOL_ERROR, "unsupported extended operation";
        /// The operation has no request value.
        UnexpectedValue => PROTOCOL_ERROR, "no request data expected";
        /// The database does not have the overlay that executes the operation.
        NotInDatabase => UNWILLING_TO_PERFORM, "operation not supported by this database";
        /// A digest is asked of something else than a stored naming context.
        NoSuchContext => NO_SUCH_OBJECT;
        /// A digest tells of all entries.
        NeedsManage => INSUFFICIENT_ACCESS_RIGHTS;
        /// A digest of the database is being computed for another request.
        DigestUnderWay => BUSY, "the digest is being computed for another request";
        /// The connection has TLS.
        TlsStarted => OPERATIONS_ERROR, "TLS already started";
        /// The connection has a security layer.
        TlsUnderSaslLayer => OPERATIONS_ERROR, "cannot start TLS under a SASL security layer";
        /// Other operations of the connection are under way.
        TlsDuringOperations => OPERATIONS_ERROR, "cannot start TLS when operations are outstanding";
        /// `disallow tls_authc`.
        TlsAfterAuthentication => OPERATIONS_ERROR, "cannot start TLS after authentication";
        /// The operation to cancel does not exist, or has ended (RFC 3909).
        NoSuchOperation => NO_SUCH_OPERATION, "message ID not found";
        /// The operation is being canceled already.
        CancelUnderWay => OPERATIONS_ERROR, "message ID already being cancelled";
        /// The operation can no longer be canceled.
        TooLateToCancel => TOO_LATE;
    }
}
