//! The type of a matching rule, and what is done with it.

use crate::{
    Schema,
    syntax::{InvalidValue, Syntax, Validate},
};

/// What a rule may be used for (RFC 4512 §4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleKind {
    /// EQUALITY of an attribute type.
    Equality,
    /// ORDERING of an attribute type.
    Ordering,
    /// SUBSTR of an attribute type.
    Substrings,
    /// Extensible match only.
    Extensible,
}

/// Appends the normal form of a value to a buffer. On an error the buffer is left as it was.
pub type Normalize = fn(&Schema, &[u8], &mut Vec<u8>) -> Result<(), InvalidValue>;

/// As [`Normalize`], for one part of a substring assertion.
pub type NormalizePart = fn(&Schema, &[u8], SubstringPart, &mut Vec<u8>) -> Result<(), InvalidValue>;

/// Decides from the normal forms of a value and of an assertion.
pub type Evaluate = fn(&Schema, &[u8], &[u8]) -> bool;

/// Calls back with each normal form of a value that matches the normal form of an assertion. If no value ever matches,
/// it does not call back.
pub type Expand = fn(&Schema, &[u8], &mut dyn FnMut(&[u8]));

/// Where in a substring assertion a part stands: space handling of RFC 4518 §2.6.1 depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubstringPart {
    /// Before the first asterisk.
    Initial,
    /// Between two asterisks.
    Any,
    /// After the last asterisk.
    Final,
}

/// One matching rule.
pub struct MatchingRule {
    /// Dotted-decimal OID.
    pub oid: &'static str,
    /// NAME.
    pub name: &'static str,
    /// OID of the assertion syntax.
    pub assertion_syntax: &'static str,
    /// What it is for.
    pub kind: RuleKind,
    /// Normal form of an attribute value.
    pub normalize_value: Normalize,
    /// Normal form of an assertion value that conforms to the assertion syntax. [`MatchingRule::assertion`] checks that
    /// first.
    pub(super) normalize_assertion: Normalize,
    /// Checks that a value conforms to the assertion syntax.
    pub(super) conforms: Validate,
    /// `normalize_assertion` refuses every value that does not conform.
    pub(super) normalizing_checks: bool,
    /// Substrings rules only: normal form of one part of an assertion; see [`MatchingRule::part`].
    pub(super) normalize_part: Option<NormalizePart>,
    /// Decides from the normal forms of value and assertion. `None`: their equality (or order) decides.
    pub evaluate: Option<Evaluate>,
    /// OIDs of the syntaxes whose attributes the rule may be applied to (for `matchingRuleUse` and extensible match).
    pub applies_to: &'static [&'static str],
    /// Whether extensible match may name the rule and `matchingRuleUse` lists it.
    pub extensible: bool,
    /// Kept out of the subschema subentry, as slapd keeps it.
    pub hidden: bool,
    /// For equality rules whose assertions also match values with other normal forms, if these can be listed. A filter
    /// asks for all of them by equality, so that indexes and evaluation need not know the rule. Such rules have no
    /// `evaluate`.
    pub expand: Option<Expand>,
}

impl std::fmt::Debug for MatchingRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for MatchingRule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.oid == other.oid
    }
}
impl Eq for MatchingRule {}

impl MatchingRule {
    /// Whether both rules give each attribute value the same normal form: what an index keeps for one serves the other.
    pub fn normalizes_as(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.normalize_value, other.normalize_value)
    }

    /// Appends the normal form of an assertion value. Every assertion of a client goes through this function before it
    /// is compared with values. So a value that the assertion syntax forbids decides nothing, neither True nor False.
    ///
    /// # Errors
    /// The value does not conform to the assertion syntax; the buffer is as it was.
    pub fn assertion(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        if !self.normalizing_checks {
            (self.conforms)(schema, value)?;
        }
        (self.normalize_assertion)(schema, value, out)
    }

    /// Appends the normal form of a part of a substring assertion about an attribute with this equality rule. As in
    /// slapd, a part must conform to the assertion syntax of that rule, and must not be empty.
    ///
    /// # Errors
    /// As [`MatchingRule::assertion`]. Also, the rule is not a substrings rule.
    pub fn part(
        &self,
        schema: &Schema,
        equality: Option<&Self>,
        value: &[u8],
        place: SubstringPart,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        let normalize = self.normalize_part.ok_or(InvalidValue)?;
        if value.is_empty() {
            return Err(InvalidValue);
        }
        if let Some(equality) = equality {
            (equality.conforms)(schema, value)?;
        }
        normalize(schema, value, place, out)
    }

    /// Whether the normal form of a value satisfies an assertion's, by an equality or extensible rule.
    pub fn matches(&self, schema: &Schema, value: &[u8], assertion: &[u8]) -> bool {
        match (self.evaluate, self.expand) {
            (Some(evaluate), _) => evaluate(schema, value, assertion),
            (None, None) => value == assertion,
            (None, Some(expand)) => {
                let mut found = false;
                expand(schema, assertion, &mut |form| found |= form == value);
                found
            }
        }
    }

    /// Whether a tool loads values that have no normal form. slapd makes no normal form by this rule, or accepts
    /// anything, so existing data may hold such values (`uidNumber: x`). They are equal to nothing and have no order.
    pub fn loads_any_value(&self) -> bool {
        LOADED_AS_THEY_ARE.contains(&self.oid)
    }

    /// Whether a tool loads a value of no octets. Some normal forms that slapd makes have no empty value.
    pub fn loads_empty_value(&self) -> bool {
        !NEVER_EMPTY.contains(&self.oid)
    }

    /// Whether patterns are matched against the values as stored, not against their normal form.
    pub fn reads_values_as_they_are(&self) -> bool {
        [INTEGER_MATCH, OBJECT_IDENTIFIER_MATCH, BOOLEAN_MATCH].contains(&self.oid)
    }

    /// Whether the rule may be applied to values of this syntax.
    pub fn is_for(&self, syntax: &Syntax) -> bool {
        self.applies_to.contains(&syntax.oid) || self.applies_to.contains(&syntax.validated_as)
    }

    /// Whether extensible match may use the rule on attributes of this syntax. A country string is also a directory
    /// string, an IA5 string and a printable string.
    pub fn is_usable_with(&self, syntax: &Syntax) -> bool {
        self.is_for(syntax) || syntax.superiors.contains(&self.assertion_syntax)
    }

    /// The definition as published (RFC 4512 §4.1.3).
    pub fn definition(&self) -> String {
        format!("( {} NAME '{}' SYNTAX {} )", self.oid, self.name, self.assertion_syntax)
    }
}

pub(super) const OBJECT_IDENTIFIER_MATCH: &str = "2.5.13.0";
pub(super) const BOOLEAN_MATCH: &str = "2.5.13.13";
pub(super) const INTEGER_MATCH: &str = "2.5.13.14";
pub(super) const GENERALIZED_TIME_MATCH: &str = "2.5.13.27";
const NUMERIC_STRING_MATCH: &str = "2.5.13.8";
const TELEPHONE_NUMBER_MATCH: &str = "2.5.13.20";

/// Rules of values that slapd does not load when they are empty.
const NEVER_EMPTY: [&str; 6] = [
    NUMERIC_STRING_MATCH,
    TELEPHONE_NUMBER_MATCH,
    GENERALIZED_TIME_MATCH,
    // certificateExactMatch, UUIDMatch, CSNMatch
    "2.5.13.34",
    "1.3.6.1.1.16.2",
    "1.3.6.1.4.1.4203.666.11.2.2",
];

/// Rules of values that slapd loads without a check.
pub(super) const LOADED_AS_THEY_ARE: [&str; 9] = [
    OBJECT_IDENTIFIER_MATCH,
    BOOLEAN_MATCH,
    INTEGER_MATCH,
    NUMERIC_STRING_MATCH,
    TELEPHONE_NUMBER_MATCH,
    // presentationAddressMatch, protocolInformationMatch
    "2.5.13.22",
    "2.5.13.24",
    // caseExactIA5Match, caseIgnoreIA5Match
    "1.3.6.1.4.1.1466.109.114.1",
    "1.3.6.1.4.1.1466.109.114.2",
];

/// LDAP_MATCHING_RULE_IN_CHAIN: the only rule that needs other entries. `ValueSource::in_chain` evaluates it.
pub const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";
