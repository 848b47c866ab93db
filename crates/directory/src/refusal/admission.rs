//! Refusals before an operation begins.

refusals! {
    /// Why a database, or the whole configuration, does not admit a request, whatever its content.
    pub(crate) enum AdmissionRefusal {
        /// The connection is not protected as `security` demands. `kind` ends in a space, unless it is empty.
        NeedsConfidentiality { kind: &'static str, has_some: bool, is_update: bool } => CONFIDENTIALITY_REQUIRED,
            format!(
                "{}{kind}confidentiality required{}",
                if has_some { "stronger " } else { "" },
                if is_update { " for update" } else { "" },
            );
        /// `require strong`.
        NeedsStrongAuthentication => STRONGER_AUTH_REQUIRED, "strong(er) authentication required";
        /// `require SASL`.
        NeedsSasl => STRONGER_AUTH_REQUIRED, "SASL authentication required";
        /// `require authc`.
        NeedsAuthentication => UNWILLING_TO_PERFORM, "authentication required";
        /// `require bind`.
        NeedsBind => OPERATIONS_ERROR, "BIND required";
        /// `require LDAPv3`.
        NeedsLdapV3 => OPERATIONS_ERROR, "operation restricted to LDAPv3 clients";
        /// `restrict` or `readonly` forbids the operation.
        Restricted => UNWILLING_TO_PERFORM, "operation restricted";
        /// `restrict read` forbids reading operations.
        ReadRestricted => UNWILLING_TO_PERFORM, "read operations restricted";
        /// `restrict` forbids the extended operation.
        ExtendedRestricted => UNWILLING_TO_PERFORM, "extended operation restricted";
        /// `restrictop` rejects the request.
        Rejected => UNWILLING_TO_PERFORM;
        /// The user must change the password first.
        PasswordMustBeChanged => INSUFFICIENT_ACCESS_RIGHTS,
            "Operations are restricted to bind/unbind/abandon/StartTLS/modify password";
    }
}
