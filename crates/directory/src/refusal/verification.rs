//! Refusals of Verify Credentials.

refusals! {
    /// Why credentials are not verified, before any bind is tried.
    pub(crate) enum VerificationRefusal {
        /// The cookie is not that of the negotiation under way.
        UnknownCookie => PROTOCOL_ERROR, "no such negotiation is under way";
        /// A bind without name or without password is anonymous: its success would say nothing.
        NoCredentials => INAPPROPRIATE_AUTHENTICATION, "there are no credentials to verify";
        /// EXTERNAL and ANONYMOUS ask for no credentials in the request.
        ProvesNothing => INAPPROPRIATE_AUTHENTICATION, "the mechanism proves nothing about credentials";
        /// Overlays of the database decide about binds before they begin. Beside them, a password would be confirmed
        /// that no bind may use.
        OverlaysDecide => UNWILLING_TO_PERFORM, "overlays of this database decide about binds";
    }
}
