//! Refusals of compare.

use ironbark_model::attribute_description::DescriptionError;

refusals! {
    /// Why a compare is refused (RFC 4511 §4.10).
    pub(crate) enum CompareRefusal {
        /// The entry's name is no DN.
        InvalidDn => INVALID_DN_SYNTAX, "invalid DN";
        /// The schema does not have the attribute.
        UndefinedAttribute => UNDEFINED_ATTRIBUTE_TYPE;
        /// What stands there is no attribute description.
        NoAttribute { reason: DescriptionError } => UNDEFINED_ATTRIBUTE_TYPE, reason.to_string();
        /// Values of the attribute cannot be compared.
        NoEqualityRule => INAPPROPRIATE_MATCHING, "inappropriate matching request";
        /// The value does not conform to the syntax of assertions.
        InvalidValue => INVALID_ATTRIBUTE_SYNTAX, "value does not conform to assertion syntax";
        /// The access rules do not grant the comparison.
        NoAccess => INSUFFICIENT_ACCESS_RIGHTS;
        /// The entry has no value of the attribute that may answer.
        NoSuchAttribute => NO_SUCH_ATTRIBUTE;
        /// The entry does not exist, or is hidden.
        NoSuchEntry => NO_SUCH_OBJECT;
        /// The comparison has used up its steps.
        TooMuchWork => ADMIN_LIMIT_EXCEEDED, "comparison takes too much work";
    }
}
