//! Refusals because of controls.

refusals! {
    /// Why a request is refused for a control that several operations have.
    pub(crate) enum ControlRefusal {
        /// A critical control cannot be obeyed here.
        Unavailable => UNAVAILABLE_CRITICAL_EXTENSION, "critical control unavailable in context";
        /// The target does not match the assertion (RFC 4528).
        AssertionFailed => ASSERTION_FAILED;
        /// Proxied authorization (RFC 4370) is not for anonymous clients.
        AnonymousProxy => AUTHORIZATION_DENIED, "anonymous proxied authorization not allowed";
        /// The authorization identity is none.
        UnknownProxy => AUTHORIZATION_DENIED, "authzId mapping failed";
        /// The client may not assume the authorization identity.
        DeniedProxy => AUTHORIZATION_DENIED, "not authorized to assume identity";
    }
}
