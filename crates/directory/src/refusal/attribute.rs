//! Refusals of an attribute and its values in an add or a modify.

use ironbark_model::attribute_description::DescriptionError;

refusals! {
    /// Why the schema refuses an attribute, or its values, before an entry is read. `name` is the attribute as the
    /// client wrote it, `index` counts values from 0.
    pub(crate) enum AttributeRefusal {
        /// The name is no attribute description of the schema.
        Undefined { name: String, error: DescriptionError } => UNDEFINED_ATTRIBUTE_TYPE, format!("{name}: {error}");
        /// Values are transferred as `;binary` only.
        NeedsBinary { name: String } => UNDEFINED_ATTRIBUTE_TYPE, format!("{name}: requires ;binary transfer");
        /// Range options are for searches.
        RangeOption { name: String } => UNDEFINED_ATTRIBUTE_TYPE,
            format!("{name}: inappropriate use of tag range option");
        /// Only integers are incremented.
        NotIncrementable { name: String } => CONSTRAINT_VIOLATION,
            format!("{name}: attribute syntax inappropriate for increment");
        /// A value does not conform to the syntax.
        InvalidValue { name: String, index: usize } => INVALID_ATTRIBUTE_SYNTAX,
            format!("{name}: value #{index} invalid per syntax");
        /// A value has no normal form.
        NotNormalizable { name: String, index: usize } => INVALID_ATTRIBUTE_SYNTAX,
            format!("{name}: value #{index} normalization failed");
        /// A single-valued attribute gets several values.
        MultipleValues { name: String } => CONSTRAINT_VIOLATION, format!("{name}: multiple values provided");
        /// A value is equal to an earlier one.
        RepeatedValue { attribute: String, index: usize } => ATTRIBUTE_OR_VALUE_EXISTS,
            format!("{attribute}: value #{index} provided more than once");
        /// The attribute is obsolete (RFC 4512 §4.1.2).
        Obsolete { name: String } => CONSTRAINT_VIOLATION, format!("{name}: attribute is obsolete");
        /// The server alone sets the attribute.
        NoUserModification { name: String } => CONSTRAINT_VIOLATION,
            format!("{name}: no user modification allowed");
        /// Relaxed rules do not include the attribute.
        NotManageable { name: String } => CONSTRAINT_VIOLATION,
            format!("{name}: no-user-modification attribute not manageable");
    }
}
