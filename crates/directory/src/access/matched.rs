//! The submatches of a rule, for clauses that insert them.

use ironbark_config::access::Submatches;
use ironbark_model::Dn;

/// The submatches of a rule that applies to the target.
pub(super) struct Matched {
    pub(super) name: Vec<Option<(usize, usize)>>,
    pub(super) name_limit: usize,
    pub(super) value_text: Option<Vec<u8>>,
    pub(super) value: Vec<Option<(usize, usize)>>,
}

impl Matched {
    pub(super) const NOTHING: Self = Self {
        name: Vec::new(),
        name_limit: Submatches::MAX,
        value_text: None,
        value: Vec::new(),
    };

    /// The text that `$1` and `${v1}` stand for: parts of the entry's name and of the value.
    pub(super) fn submatches<'m>(&'m self, dn: &'m Dn, value: Option<&'m [u8]>) -> (Submatches<'m>, Submatches<'m>) {
        let name = Submatches {
            text: Some(dn.normalized()),
            spans: &self.name,
            limit: self.name_limit,
        };
        let value = Submatches {
            text: self.value_text.as_deref().or(value),
            spans: &self.value,
            limit: Submatches::MAX,
        };
        (name, value)
    }

    /// The same for properties of connections, which can use only the submatches of regular expressions.
    pub(super) fn of_expressions<'m>(&'m self, rule_dn: &'m Dn) -> (Submatches<'m>, Submatches<'m>) {
        let (mut name, value) = self.submatches(rule_dn, None);
        if self.name_limit != Submatches::MAX {
            name.spans = &[];
            name.limit = Submatches::MAX;
        }
        (name, value)
    }
}
