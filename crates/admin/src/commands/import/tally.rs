//! What was done to the data: numbers, and the first examples. Its size is bounded.

use std::collections::BTreeMap;

use super::rules::RULES;

/// Examples of each kind.
const EXAMPLES: usize = 3;
/// The most kinds of one sort that are told apart.
const MOST_KINDS: usize = 1_000;

/// How often something happened, and where first.
#[derive(Clone, Default, Debug)]
pub(super) struct Count {
    pub(super) number: u64,
    pub(super) examples: Vec<String>,
}

impl Count {
    pub(super) fn add(&mut self, dn: &str) {
        self.number += 1;
        if self.examples.len() < EXAMPLES && self.examples.last().is_none_or(|last| last != dn) {
            self.examples.push(dn.to_owned());
        }
    }
}

/// Counts by a text.
pub(super) type Counts = BTreeMap<String, Count>;

/// Adds to a count, if there are not too many of them.
pub(super) fn count(counts: &mut Counts, kind: &str, dn: &str) {
    if let Some(found) = counts.get_mut(kind) {
        found.add(dn);
    } else if counts.len() < MOST_KINDS {
        counts.entry(kind.to_owned()).or_default().add(dn);
    } else {
        counts.entry("others".to_owned()).or_default().add(dn);
    }
}

/// All counts.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) read: u64,
    pub(super) written: u64,
    /// By the position of the rule.
    pub(super) rules: Vec<Count>,
    pub(super) unknown_types: Counts,
    pub(super) unknown_classes: Counts,
    /// Values that the matching rule of their attribute does not accept, by attribute.
    pub(super) bad_values: Counts,
    /// Entries that break the schema, by the reason.
    pub(super) faults: Counts,
    /// Schemes of passwords that are not verified.
    pub(super) schemes: Counts,
    /// Access rules, with their entries: the first ones.
    pub(super) aci: Vec<(String, String)>,
    /// Entries outside of all suffixes.
    pub(super) outside: Count,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            read: 0,
            written: 0,
            rules: vec![Count::default(); RULES.len()],
            unknown_types: Counts::new(),
            unknown_classes: Counts::new(),
            bad_values: Counts::new(),
            faults: Counts::new(),
            schemes: Counts::new(),
            aci: Vec::new(),
            outside: Count::default(),
        }
    }

    pub(super) fn rule(&mut self, number: usize, dn: &str) {
        if let Some(count) = self.rules.get_mut(number) {
            count.add(dn);
        }
    }
}
