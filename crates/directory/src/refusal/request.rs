//! Refusals of requests of any kind.

refusals! {
    /// Why a reactor does not begin a request, or ends it, whichever operation it is.
    pub(crate) enum RequestRefusal {
        /// An operation with this message ID is under way.
        MessageIdInUse => PROTOCOL_ERROR, "message ID is in use";
        /// During a SASL negotiation there are binds only.
        NegotiationUnderWay => OPERATIONS_ERROR, "SASL bind in progress";
        /// Memory is short.
        NoMemory => BUSY, "no memory is left; try again later";
        /// Too many searches wait for the threads of long ones.
        TooManyLongSearches => BUSY, "too many long searches are waiting";
        /// Too much work waits for the threads of slow computations.
        TooMuchWork => BUSY, "too much work is waiting";
        /// The client has canceled it (RFC 3909).
        Canceled => CANCELED;
    }
}
