//! Refusals of modify DN.

refusals! {
    /// Why a modify DN is refused (RFC 4511 §4.9).
    pub(crate) enum ModifyDnRefusal {
        /// The new RDN is no single RDN.
        InvalidNewRdn => INVALID_DN_SYNTAX, "invalid new RDN";
        /// The new superior is no name.
        InvalidNewSuperior => INVALID_DN_SYNTAX, "invalid newSuperior";
        /// Values of an attribute of the new RDN cannot be compared.
        NoEqualityRule => NAMING_VIOLATION, "naming attribute has no equality matching rule";
        /// The new superior is within the entry's own subtree.
        BelowItself => UNWILLING_TO_PERFORM, "cannot place an entry below itself";
        /// The new name is that of an entry above.
        AboveItself => UNWILLING_TO_PERFORM, "cannot place an entry above itself";
        /// The new name belongs to another database.
        OtherContext => AFFECTS_MULTIPLE_DSAS, "cannot rename between DSAs";
        /// The entry is the suffix of its database.
        Suffix => NAMING_VIOLATION, "cannot rename suffix entry";
        /// The access rules do not grant it on the children of the present superior.
        NoAccessToParent => INSUFFICIENT_ACCESS_RIGHTS, "no write access to parent's children";
        /// The access rules do not grant it on the entry.
        NoAccessToEntry => INSUFFICIENT_ACCESS_RIGHTS, "no write access to old entry";
        /// The access rules do not grant it on the children of the new superior.
        NoAccessToNewSuperior => INSUFFICIENT_ACCESS_RIGHTS, "no write access to new superior's children";
        /// The access rules do not grant it before overlays see the request.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// There is another entry of the new name.
        Exists => ENTRY_ALREADY_EXISTS;
        /// The new superior does not exist.
        NoNewSuperior => NO_SUCH_OBJECT, "new superior not found";
        /// Aliases have no subordinates.
        NewSuperiorIsAlias => ALIAS_PROBLEM, "new superior is an alias";
        /// Referrals have no subordinates here.
        NewSuperiorIsReferral => OTHER, "new superior is a referral";
        /// The name is that of the root DSE.
        RootDse => UNWILLING_TO_PERFORM, "cannot rename the root DSE";
        /// The name is that of the subschema subentry.
        Subschema => UNWILLING_TO_PERFORM, "cannot rename subschema subentry";
    }
}
