//! Refusals of password modify.

refusals! {
    /// Why a password modify is refused (RFC 3062).
    pub(crate) enum PasswordModifyRefusal {
        /// Anonymous clients have no password.
        NeedsAuthentication => STRONGER_AUTH_REQUIRED, "only authenticated users may change passwords";
        /// The user is no DN.
        InvalidUser => INVALID_ATTRIBUTE_SYNTAX, "Invalid DN";
        /// The user is the empty DN.
        RootDse => UNWILLING_TO_PERFORM, "no password is associated with the Root DSE";
        /// No database has the user.
        NoContext => OTHER, "no authz backend";
        /// The user's database keeps no passwords.
        UnsupportedInContext => UNWILLING_TO_PERFORM, "operation not supported for current user";
        /// The old password is wrong, or may not be compared.
        UnverifiedOldPassword => UNWILLING_TO_PERFORM, "unwilling to verify old password";
        /// There is no randomness for a new password.
        NotGenerated => OTHER, "password generation failed";
    }
}
