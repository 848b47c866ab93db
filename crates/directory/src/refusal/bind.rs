//! Refusals of bind.

refusals! {
    /// Why a bind is refused (RFC 4511 §4.2), except by a SASL mechanism.
    pub(crate) enum BindRefusal {
        /// Too many binds from the same address have failed (`bind-failure-limit`).
        TooManyFailures => BUSY, "too many binds from this address have failed";
        /// Protocol version 2 is not allowed.
        HistoricalVersion => PROTOCOL_ERROR, "historical protocol version requested, use LDAPv3 instead";
        /// There is no such protocol version.
        UnknownVersion => PROTOCOL_ERROR, "requested protocol version not supported";
        /// SASL needs protocol version 3.
        SaslNeedsV3 => PROTOCOL_ERROR, "SASL bind requires LDAPv3";
        /// The bind is neither simple nor SASL.
        UnknownMethod => AUTH_METHOD_NOT_SUPPORTED, "unknown authentication method";
        /// The SASL bind names no mechanism.
        NoMechanism => AUTH_METHOD_NOT_SUPPORTED, "no SASL mechanism provided";
        /// A DN without a password is not allowed (RFC 4513 §5.1.2).
        UnauthenticatedDisallowed => UNWILLING_TO_PERFORM, "unauthenticated bind (DN with no password) disallowed";
        /// Anonymous binds are not allowed.
        AnonymousDisallowed => INAPPROPRIATE_AUTHENTICATION, "anonymous bind disallowed";
        /// Simple binds are not allowed.
        SimpleDisallowed => UNWILLING_TO_PERFORM, "unwilling to perform simple authentication";
        /// Name and password do not fit. The answer does not reveal whether there is such an entry.
        InvalidCredentials => INVALID_CREDENTIALS;
    }
}
