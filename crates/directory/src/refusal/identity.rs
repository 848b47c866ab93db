//! Refusals of identities.

refusals! {
    /// Why an authorization identity cannot be found.
    pub(crate) enum IdentityRefusal {
        /// The URL of an `authz-regexp` finds its entry among too many.
        TooManyEntries => ADMIN_LIMIT_EXCEEDED,
            "authz-regexp: too many entries to look through; the filter of its URL needs an index";
        /// The text has none of the forms of identities.
        NoForm => INAPPROPRIATE_AUTHENTICATION;
        /// The name is no DN.
        InvalidName => INVALID_ATTRIBUTE_SYNTAX;
    }
}
