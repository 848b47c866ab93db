//! Rows of matching rules.

use super::{Evaluate, MatchingRule, Normalize, NormalizePart, RuleKind};
use crate::syntax;

impl MatchingRule {
    /// An equality rule whose assertions are values.
    pub(super) const fn equality(
        oid: &'static str,
        name: &'static str,
        assertion_syntax: &'static str,
        normalize: Normalize,
        applies_to: &'static [&'static str],
    ) -> Self {
        Self {
            oid,
            name,
            assertion_syntax,
            kind: RuleKind::Equality,
            normalize_value: normalize,
            normalize_assertion: normalize,
            conforms: syntax::validator(assertion_syntax),
            normalizing_checks: false,
            normalize_part: None,
            evaluate: None,
            applies_to,
            extensible: true,
            hidden: false,
            expand: None,
        }
    }

    pub(super) const fn ordering(
        oid: &'static str,
        name: &'static str,
        assertion_syntax: &'static str,
        normalize: Normalize,
        applies_to: &'static [&'static str],
    ) -> Self {
        Self {
            kind: RuleKind::Ordering,
            ..Self::equality(oid, name, assertion_syntax, normalize, applies_to)
        }
    }

    /// A substrings rule; extensible match cannot name it, as in slapd.
    pub(super) const fn substrings(
        oid: &'static str,
        name: &'static str,
        assertion_syntax: &'static str,
        normalize: Normalize,
        part: NormalizePart,
        applies_to: &'static [&'static str],
    ) -> Self {
        Self {
            kind: RuleKind::Substrings,
            normalize_part: Some(part),
            extensible: false,
            ..Self::equality(oid, name, assertion_syntax, normalize, applies_to)
        }
    }

    /// A rule that only extensible match uses.
    pub(super) const fn extensible(
        oid: &'static str,
        name: &'static str,
        assertion_syntax: &'static str,
        normalize: Normalize,
        evaluate: Evaluate,
        applies_to: &'static [&'static str],
    ) -> Self {
        Self {
            kind: RuleKind::Extensible,
            evaluate: Some(evaluate),
            ..Self::equality(oid, name, assertion_syntax, normalize, applies_to)
        }
    }

    pub(super) const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    pub(super) const fn with_assertion(self, normalize_assertion: Normalize) -> Self {
        Self {
            normalize_assertion,
            ..self
        }
    }

    /// For rules whose normalization fails for every value that does not conform to the assertion syntax. The value is
    /// then not checked a second time.
    pub(super) const fn checked_by_normalizing(self) -> Self {
        Self {
            normalizing_checks: true,
            ..self
        }
    }

    pub(super) const fn not_extensible(self) -> Self {
        Self {
            extensible: false,
            ..self
        }
    }
}
