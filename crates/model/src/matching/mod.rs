//! Matching rules (RFC 4517 §4): one file a family, one row of the table each.
//!
//! A rule normalizes values: equality is then byte equality and order is byte order. Rules that are neither have
//! `evaluate`. The rule that matches a class with its subclasses has `expand`.

use std::{collections::HashMap, sync::LazyLock};

pub mod approx;
mod authz;
mod bits;
mod build;
mod certificates;
mod csn;
mod first_component;
mod integers;
mod lists;
mod names;
mod object_identifiers;
mod octets;
mod ordered;
mod others;
mod phone_and_numeric;
mod rule;
mod strings;
mod time;
mod uuid;
mod words;
mod written;

#[cfg(test)]
mod tests;

pub(crate) use names::{UNIQUE_MEMBER_APPROXIMATE, UNIQUE_MEMBER_MATCH};
pub(crate) use ordered::behind_number;
pub use rule::{Evaluate, Expand, IN_CHAIN, MatchingRule, Normalize, NormalizePart, RuleKind, SubstringPart};

/// The rows of all families.
static FAMILIES: &[&[MatchingRule]] = &[
    uuid::ROWS,
    bits::ROWS,
    strings::IA5_ROWS,
    certificates::ROWS,
    first_component::ROWS,
    time::ROWS,
    names::UNIQUE_MEMBER_ROWS,
    others::ROWS,
    phone_and_numeric::TELEPHONE_ROWS,
    octets::ROWS,
    integers::ROWS,
    others::BOOLEAN_ROWS,
    lists::ROWS,
    phone_and_numeric::NUMERIC_ROWS,
    strings::DIRECTORY_ROWS,
    words::ROWS,
    names::ROWS,
    object_identifiers::ROWS,
    authz::ROWS,
    csn::ROWS,
    approx::ROWS,
];

/// All rules, in the order in which they are published.
pub fn all() -> impl Iterator<Item = &'static MatchingRule> {
    FAMILIES.iter().copied().flatten()
}

/// A rule by NAME (any case) or OID. Allocates nothing.
pub fn find(name: &[u8]) -> Option<&'static MatchingRule> {
    static BY_NAME: LazyLock<HashMap<Box<[u8]>, &'static MatchingRule>> = LazyLock::new(|| {
        all()
            .flat_map(|rule| [(rule.name, rule), (rule.oid, rule)])
            .map(|(name, rule)| (name.to_ascii_lowercase().into_bytes().into_boxed_slice(), rule))
            .collect()
    });
    let mut lower = [0; 64];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    BY_NAME.get(&*lower).copied()
}

/// The rule that evaluates EQUALITY of an attribute type. For `objectClass` and `structuralObjectClass`, a class also
/// matches its superclasses.
pub(crate) fn equality_for(type_oid: &str, rule: &'static MatchingRule) -> &'static MatchingRule {
    match type_oid {
        // objectClass, structuralObjectClass
        "2.5.4.0" | "2.5.21.9" => &object_identifiers::OBJECT_SUBCLASS_MATCH,
        _ => rule,
    }
}
