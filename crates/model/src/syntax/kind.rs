//! The type of a syntax.

use crate::Schema;

/// One attribute syntax.
pub struct Syntax {
    /// Dotted-decimal OID.
    pub oid: &'static str,
    /// DESC as published.
    pub description: &'static str,
    /// Whether values must travel with `;binary` (RFC 4522), as certificates do.
    pub binary_transfer: bool,
    /// Whether a person can read values (`X-NOT-HUMAN-READABLE` is published otherwise).
    pub human_readable: bool,
    /// Checks one value.
    pub validate: fn(&Schema, &[u8]) -> Result<(), InvalidValue>,
    /// OID of the syntax whose rules apply: its own, or that of the `X-SUBST` of an `ldapsyntax`.
    pub validated_as: &'static str,
    /// Kept out of the subschema subentry, as slapd keeps it.
    pub hidden: bool,
    /// OIDs of other syntaxes to which these values also conform. Extensible match may use rules for them.
    pub(crate) superiors: &'static [&'static str],
    /// How values stand in names.
    pub(crate) name_form: NameForm,
}

/// The form of a syntax's values in the pretty and in the normal form of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameForm {
    /// As written in the pretty form; normalized by the attribute's equality rule in the normal form.
    ByRule,
    /// As written in the pretty form; in lower case in the normal form. Each value has one text except for its case, so
    /// the text says the same as the rule's binary normal form. Access rules match regular expressions against it.
    Text,
    /// As [`NameForm::Text`], but in lower case in both forms.
    Uuid,
    /// As [`NameForm::ByRule`], but values of `objectClass` take the first name of the class.
    ObjectIdentifier,
    /// A name in a name.
    Name,
    /// The same, with an optional bit string.
    NameAndUid,
}

/// A value does not conform to its syntax; maps to `invalidAttributeSyntax` or an Undefined filter item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("value does not conform to its syntax")]
pub struct InvalidValue;

impl std::fmt::Debug for Syntax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.oid)
    }
}

impl PartialEq for Syntax {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}
impl Eq for Syntax {}

impl Syntax {
    /// A text syntax that is published.
    pub(crate) const fn text(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            oid,
            description,
            binary_transfer: false,
            human_readable: true,
            validate,
            validated_as: oid,
            hidden: false,
            superiors: &[],
            name_form: NameForm::ByRule,
        }
    }

    /// A syntax whose values people cannot read.
    pub(super) const fn octets(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            human_readable: false,
            ..Self::text(oid, description, validate)
        }
    }

    /// A DER syntax whose values need `;binary`.
    pub(super) const fn der(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            binary_transfer: true,
            ..Self::octets(oid, description, validate)
        }
    }

    pub(super) const fn in_names(self, name_form: NameForm) -> Self {
        Self { name_form, ..self }
    }

    pub(super) const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    pub(super) const fn within(self, superiors: &'static [&'static str]) -> Self {
        Self { superiors, ..self }
    }
}

/// Checks one value.
pub(crate) type Validate = fn(&Schema, &[u8]) -> Result<(), InvalidValue>;

/// `Ok` when `valid`.
pub(super) fn require(valid: bool) -> Result<(), InvalidValue> {
    if valid { Ok(()) } else { Err(InvalidValue) }
}

/// The value as text.
pub(super) fn text(value: &[u8]) -> Result<&str, InvalidValue> {
    std::str::from_utf8(value).map_err(|_| InvalidValue)
}
