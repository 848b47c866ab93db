//! Refusals of a whole entry by the schema.

refusals! {
    /// Why an entry may not be as a write leaves it. Missing, forbidden and misplaced attributes are `EntryError`s of
    /// the model.
    pub(crate) enum EntryRefusal {
        /// The entry has no class.
        NoObjectClass => OBJECT_CLASS_VIOLATION, "no objectClass attribute";
        /// The stored entry has no structural class.
        NoStructuralClass => OTHER, "no structuralObjectClass operational attribute";
        /// The schema does not have the structural class of the stored entry.
        UnknownStructuralClass { class: String } => OBJECT_CLASS_VIOLATION,
            format!("unrecognized structuralObjectClass '{class}'");
        /// The entry does not have an attribute of its RDN.
        NoNamingAttribute { attribute: String } => NAMING_VIOLATION,
            format!("naming attribute '{attribute}' is not present in entry");
        /// The entry does not have a value of its RDN.
        NoNamingValue { attribute: String } => NAMING_VIOLATION,
            format!("value of naming attribute '{attribute}' is not present in entry");
        /// The name has another value of a single-valued attribute than the entry.
        NamingValueConflict { attribute: String } => NAMING_VIOLATION,
            format!("value of single-valued naming attribute '{attribute}' conflicts with value present in entry");
        /// The attribute may not name entries.
        NotNaming { attribute: String, fault: &'static str } => NAMING_VIOLATION,
            format!("naming attribute '{attribute}' {fault}");
        /// The RDN has an attribute type that is allowed in names of the configuration alone.
        UndefinedNamingType => UNDEFINED_ATTRIBUTE_TYPE, "attribute type undefined (in RDN)";
    }
}
