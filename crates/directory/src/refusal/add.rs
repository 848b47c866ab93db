//! Refusals of add.

refusals! {
    /// Why an add is refused (RFC 4511 §4.7).
    pub(crate) enum AddRefusal {
        /// The request has no attributes.
        NoAttributes => PROTOCOL_ERROR, "no attributes provided";
        /// The request lists an attribute more than once.
        RepeatedAttribute { attribute: String } => ATTRIBUTE_OR_VALUE_EXISTS,
            format!("attribute '{attribute}' provided more than once");
        /// The access rules do not grant a subordinate of the superior.
        NoAccessToParent => INSUFFICIENT_ACCESS_RIGHTS, "no write access to parent";
        /// The access rules do not grant the entry.
        NoAccessToEntry => INSUFFICIENT_ACCESS_RIGHTS, "no write access to entry";
        /// The access rules do not grant an attribute.
        NoAccessToAttribute => INSUFFICIENT_ACCESS_RIGHTS, "no write access to attribute";
        /// The access rules do not grant the entry before overlays see it.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// There is an entry of this name.
        Exists => ENTRY_ALREADY_EXISTS;
        /// Subentries have no subordinates.
        ParentIsSubentry => OBJECT_CLASS_VIOLATION, "parent is a subentry";
        /// Aliases have no subordinates.
        ParentIsAlias => ALIAS_PROBLEM, "parent is an alias";
        /// The name is that of the root DSE.
        RootDseExists => ENTRY_ALREADY_EXISTS, "root DSE already exists";
        /// The name is that of the subschema subentry.
        SubschemaExists => ENTRY_ALREADY_EXISTS, "subschema subentry already exists";
    }
}
