//! Matching rules (RFC 4517 §4): one file a family, one row of the table each.
//!
//! A rule normalizes: equality is then byte equality and order is byte order. Rules that are neither have `evaluate`.

use crate::{Schema, syntax::InvalidValue};

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
    /// Normal form of an assertion value. For substrings rules: of a whole string; parts go through `normalize_part`.
    pub normalize_assertion: Normalize,
    /// Substrings rules only: normal form of one part of an assertion.
    pub normalize_part: Option<fn(&Schema, &[u8], SubstringPart, &mut Vec<u8>) -> Result<(), InvalidValue>>,
    /// `None`: equality (or order) of the normal forms decides. Otherwise given the normal forms of value and assertion.
    pub evaluate: Option<fn(&Schema, &[u8], &[u8]) -> bool>,
    /// OIDs of the syntaxes whose attributes the rule may be applied to (for `matchingRuleUse` and extensible match).
    pub applies_to: &'static [&'static str],
}

impl std::fmt::Debug for MatchingRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for MatchingRule {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}
impl Eq for MatchingRule {}
