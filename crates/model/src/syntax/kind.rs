//! What a syntax is.

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
    /// OIDs of the syntaxes whose values these values are too: rules for them may be used by extensible match.
    pub(crate) superiors: &'static [&'static str],
    /// How values stand in names.
    pub(crate) name_form: NameForm,
}

/// How values of a syntax stand in the pretty and in the normal form of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameForm {
    /// As written, and normalized by the attribute's equality rule.
    ByRule,
    /// As written, and in lower case. Each value has one text but for its case, which says what the rules' binary
    /// normal form says; access rules match regular expressions against it.
    Text,
    /// As [`NameForm::Text`], but in lower case in both.
    Uuid,
    /// As [`NameForm::ByRule`], but values of `objectClass` by the first name of the class.
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
    pub(super) const fn text(oid: &'static str, description: &'static str, validate: Validate) -> Self {
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

    /// A syntax whose values are not for reading.
    pub(super) const fn octets(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            human_readable: false,
            ..Self::text(oid, description, validate)
        }
    }

    /// A DER syntax that travels with `;binary`.
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
