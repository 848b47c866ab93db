//! Refusals of modify.

refusals! {
    /// Why a modify is refused (RFC 4511 §4.6), and a modify DN whose changes of attributes cannot be made.
    pub(crate) enum ModifyRefusal {
        /// The access rules do not grant a change.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// The value to add exists.
        ValueExists { attribute: String, index: usize } => ATTRIBUTE_OR_VALUE_EXISTS,
            format!("modify/add: {attribute}: value #{index} already exists");
        /// Values of the attribute cannot be compared, so single ones cannot be added to others or deleted.
        NoEqualityRule { change: &'static str, attribute: String } => INAPPROPRIATE_MATCHING,
            format!("modify/{change}: {attribute}: no equality matching rule");
        /// The entry does not have the attribute.
        NoSuchAttribute { change: &'static str, attribute: String } => NO_SUCH_ATTRIBUTE,
            format!("modify/{change}: {attribute}: no such attribute");
        /// The entry does not have the value to delete.
        NoSuchValue { attribute: String } => NO_SUCH_ATTRIBUTE,
            format!("modify/delete: {attribute}: no such value");
        /// The increment is no number.
        InvalidIncrement => INVALID_ATTRIBUTE_SYNTAX, "modify/increment: invalid syntax of increment";
        /// A value to increment is no number.
        InvalidOriginal => INVALID_ATTRIBUTE_SYNTAX, "modify/increment: invalid syntax of original value";
        /// The increments of the request change too many octets.
        TooMuchWork => ADMIN_LIMIT_EXCEEDED, "operation takes too much work";
        /// CSNs can be taken out of the context vector, and none can be put in.
        ContextOnlyShrinks => CONSTRAINT_VIOLATION, "contextCSN: values can only be deleted";
        /// The name is that of the root DSE.
        RootDse => UNWILLING_TO_PERFORM, "modify upon the root DSE not supported";
        /// The name is that of the subschema subentry.
        Subschema => UNWILLING_TO_PERFORM, "modification of subschema subentry not supported";
    }
}
