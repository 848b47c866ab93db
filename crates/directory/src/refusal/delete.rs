//! Refusals of delete.

refusals! {
    /// Why a delete is refused (RFC 4511 §4.8).
    pub(crate) enum DeleteRefusal {
        /// The entry has subordinates.
        HasSubordinates => NOT_ALLOWED_ON_NON_LEAF, "subordinate objects must be deleted first";
        /// The entry that an overlay deletes has subordinates.
        InternalHasSubordinates => NOT_ALLOWED_ON_NON_LEAF;
        /// The tree has more entries than one operation deletes.
        TooManySubordinates => ADMIN_LIMIT_EXCEEDED, "too many subordinates";
        /// The access rules do not grant deleting subordinates of the superior.
        NoAccessToParent => INSUFFICIENT_ACCESS_RIGHTS, "no write access to parent";
        /// The entry has no superior, and only the rootdn may delete it.
        NoParent => INSUFFICIENT_ACCESS_RIGHTS;
        /// The access rules do not grant deleting the entry.
        NoAccessToEntry => INSUFFICIENT_ACCESS_RIGHTS, "no write access to entry";
        /// The access rules do not grant deleting an entry of the tree.
        NoAccessToSubordinate => INSUFFICIENT_ACCESS_RIGHTS, "no write access to a subordinate";
        /// The name is that of the root DSE or of the subschema subentry: slapd's text is the same for both.
        FrontendEntry => UNWILLING_TO_PERFORM, "cannot delete the root DSE";
    }
}
