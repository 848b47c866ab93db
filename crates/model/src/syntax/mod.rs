//! Attribute syntaxes (RFC 4517 §3.3): one file a family, one row of the table each.

use std::sync::LazyLock;

use crate::Schema;

pub mod authz;
mod binary;
mod certificates;
pub(crate) mod csn;
pub(crate) mod der;
mod descriptions;
pub(crate) mod gser;
mod guide;
mod mail;
mod names;
mod nis;
mod numbers;
mod strings;
mod substring_assertion;
mod subtree_specification;
mod telephony;
pub(crate) mod time;
pub(crate) mod uuid;

#[cfg(test)]
mod tests;

pub(crate) use binary::OCTET_STRING;
pub use certificates::Certificate;
pub(crate) use certificates::{AttributeCertificate, CertificateList};
pub(crate) use numbers::integer_parts;

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
    /// As written, and in lower case. Each value has one text but for its case, which says what the rules' binary normal form says;
    /// access rules match regular expressions against it.
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
    const fn text(oid: &'static str, description: &'static str, validate: Validate) -> Self {
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
    const fn octets(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            human_readable: false,
            ..Self::text(oid, description, validate)
        }
    }

    /// A DER syntax that travels with `;binary`.
    const fn der(oid: &'static str, description: &'static str, validate: Validate) -> Self {
        Self {
            binary_transfer: true,
            ..Self::octets(oid, description, validate)
        }
    }

    const fn in_names(self, name_form: NameForm) -> Self {
        Self { name_form, ..self }
    }

    const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    const fn within(self, superiors: &'static [&'static str]) -> Self {
        Self { superiors, ..self }
    }
}

/// Checks one value.
pub(crate) type Validate = fn(&Schema, &[u8]) -> Result<(), InvalidValue>;

/// OIDs of the syntaxes that rules and code refer to.
pub mod oid {
    macro_rules! rfc4517 {
        ($($name:ident = $arc:literal, $what:literal;)*) => {
            $(#[doc = $what]
            pub const $name: &str = concat!("1.3.6.1.4.1.1466.115.121.1.", $arc);)*
        };
    }
    rfc4517! {
        ATTRIBUTE_TYPE_DESCRIPTION = "3", "Attribute Type Description.";
        BIT_STRING = "6", "Bit String.";
        BOOLEAN = "7", "Boolean.";
        CERTIFICATE = "8", "Certificate.";
        CERTIFICATE_LIST = "9", "Certificate List.";
        COUNTRY_STRING = "11", "Country String.";
        DN = "12", "Distinguished Name.";
        DIRECTORY_STRING = "15", "Directory String.";
        DIT_CONTENT_RULE_DESCRIPTION = "16", "DIT Content Rule Description.";
        DIT_STRUCTURE_RULE_DESCRIPTION = "17", "DIT Structure Rule Description.";
        GENERALIZED_TIME = "24", "Generalized Time.";
        IA5_STRING = "26", "IA5 String.";
        INTEGER = "27", "Integer.";
        MATCHING_RULE_DESCRIPTION = "30", "Matching Rule Description.";
        MATCHING_RULE_USE_DESCRIPTION = "31", "Matching Rule Use Description.";
        NAME_AND_OPTIONAL_UID = "34", "Name And Optional UID.";
        NAME_FORM_DESCRIPTION = "35", "Name Form Description.";
        NUMERIC_STRING = "36", "Numeric String.";
        OBJECT_CLASS_DESCRIPTION = "37", "Object Class Description.";
        OID = "38", "OID.";
        OCTET_STRING = "40", "Octet String.";
        POSTAL_ADDRESS = "41", "Postal Address.";
        PROTOCOL_INFORMATION = "42", "Protocol Information.";
        PRESENTATION_ADDRESS = "43", "Presentation Address.";
        PRINTABLE_STRING = "44", "Printable String.";
        TELEPHONE_NUMBER = "50", "Telephone Number.";
        LDAP_SYNTAX_DESCRIPTION = "54", "LDAP Syntax Description.";
        SUBSTRING_ASSERTION = "58", "Substring Assertion.";
    }
    /// RDN.
    pub const RDN: &str = "1.2.36.79672281.1.5.0";
    /// UUID (RFC 4530).
    pub const UUID: &str = "1.3.6.1.1.16.1";
    /// Change sequence number.
    pub const CSN: &str = "1.3.6.1.4.1.4203.666.11.2.1";
    /// Server identifier of a CSN.
    pub const CSN_SID: &str = "1.3.6.1.4.1.4203.666.11.2.4";
    /// Authorization rule.
    pub const AUTHZ: &str = "1.3.6.1.4.1.4203.666.2.7";
    /// PKCS#8 private key.
    pub const PRIVATE_KEY: &str = "1.2.840.113549.1.8.1.1";
    /// X.509 attribute certificate.
    pub const ATTRIBUTE_CERTIFICATE: &str = "1.3.6.1.4.1.4203.666.11.10.2.1";
    /// Assertion about an attribute certificate.
    pub const ATTRIBUTE_CERTIFICATE_EXACT_ASSERTION: &str = "1.3.6.1.4.1.4203.666.11.10.2.2";
    /// Certificate Exact Assertion (RFC 4523).
    pub const CERTIFICATE_EXACT_ASSERTION: &str = "1.3.6.1.1.15.1";
    /// Certificate List Exact Assertion (RFC 4523).
    pub const CERTIFICATE_LIST_EXACT_ASSERTION: &str = "1.3.6.1.1.15.5";
}

/// The rows of all families.
static FAMILIES: &[&[Syntax]] = &[
    authz::ROWS,
    binary::ROWS,
    certificates::ROWS,
    csn::ROWS,
    descriptions::ROWS,
    guide::ROWS,
    mail::ROWS,
    names::ROWS,
    nis::ROWS,
    numbers::ROWS,
    strings::ROWS,
    substring_assertion::ROWS,
    subtree_specification::ROWS,
    telephony::ROWS,
    time::ROWS,
    uuid::ROWS,
];

/// All built-in syntaxes, by OID in the order of arcs.
pub fn all() -> impl Iterator<Item = &'static Syntax> {
    static SORTED: LazyLock<Vec<&'static Syntax>> = LazyLock::new(|| {
        let mut rows: Vec<&'static Syntax> = FAMILIES.iter().copied().flatten().collect();
        rows.sort_by_key(|syntax| {
            // Those of RFC 4517 first.
            let foreign = !syntax.oid.starts_with("1.3.6.1.4.1.1466.");
            let arcs: Vec<u64> = syntax.oid.split('.').map(|arc| arc.parse().unwrap_or(0)).collect();
            (foreign, arcs)
        });
        rows
    });
    SORTED.iter().copied()
}

/// A built-in syntax by OID.
pub fn find(oid: &str) -> Option<&'static Syntax> {
    all().find(|syntax| syntax.oid == oid)
}

/// The check of a built-in syntax, for the rows of matching rules, which are made at compile time.
///
/// # Panics
/// At compile time, when there is no such syntax.
#[expect(clippy::panic, reason = "ends the compilation")]
pub(crate) const fn validator(oid: &str) -> Validate {
    let mut families: &[&[Syntax]] = FAMILIES;
    while let [rows, others @ ..] = families {
        families = others;
        let mut rows: &[Syntax] = rows;
        while let [row, others @ ..] = rows {
            rows = others;
            if is_same(row.oid.as_bytes(), oid.as_bytes()) {
                return row.validate;
            }
        }
    }
    panic!("a matching rule has an unknown assertion syntax")
}

/// Equality that the compiler can work out.
const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

/// The definition of a syntax as published (RFC 4512 §4.1.5).
pub fn definition(syntax: &Syntax) -> String {
    let mut text = format!("( {} DESC '{}'", syntax.oid, syntax.description);
    if syntax.binary_transfer && !syntax.human_readable {
        text.push_str(" X-BINARY-TRANSFER-REQUIRED 'TRUE'");
    }
    if !syntax.human_readable {
        text.push_str(" X-NOT-HUMAN-READABLE 'TRUE'");
    }
    text.push_str(" )");
    text
}

/// `Ok` when `valid`.
fn require(valid: bool) -> Result<(), InvalidValue> {
    if valid { Ok(()) } else { Err(InvalidValue) }
}

/// The value as text.
fn text(value: &[u8]) -> Result<&str, InvalidValue> {
    std::str::from_utf8(value).map_err(|_| InvalidValue)
}
