//! Refusals of a whole entry by the schema.

refusals! {
    /// Why an entry may not be as a write leaves it. Rules that hold for loaded entries too are `EntryError`s of the
    /// model.
    pub(crate) enum EntryRefusal {
        /// The entry has no class.
        NoObjectClass => OBJECT_CLASS_VIOLATION, "no objectClass attribute";
        /// The stored entry has no structural class.
        NoStructuralClass => OTHER, "no structuralObjectClass operational attribute";
        /// The entry does not have an attribute of its RDN.
        LacksNamingAttribute { attribute: String } => NAMING_VIOLATION,
            format!("naming attribute '{attribute}' is not present in entry");
        /// The entry does not have a value of its RDN.
        LacksNamingValue { attribute: String } => NAMING_VIOLATION,
            format!("value of naming attribute '{attribute}' is not present in entry");
    }
}
