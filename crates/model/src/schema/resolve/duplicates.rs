//! Decides whether two definitions of one element are the same.

use super::super::definition::{AttributeTypeDefinition, Common, ContentRuleDefinition, ObjectClassDefinition};

/// How much two definitions must agree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// All but DESC and extensions.
    Same,
    /// A file that repeats a built-in element (an old ppolicy.schema). It may leave elements out, but not contradict.
    NoContradiction,
}

/// Compares two attribute types. `expand` turns OIDs into numeric ones.
pub(super) fn same_attribute_type(
    known: &AttributeTypeDefinition,
    new: &AttributeTypeDefinition,
    strictness: Strictness,
    expand: &dyn Fn(&str) -> String,
) -> bool {
    let syntax = |definition: &AttributeTypeDefinition| definition.syntax.as_deref().map(expand);
    let pairs = [
        (&known.superior, &new.superior),
        (&known.equality, &new.equality),
        (&known.ordering, &new.ordering),
        (&known.substrings, &new.substrings),
    ];
    match strictness {
        Strictness::Same => {
            same_names(&known.common, &new.common)
                && pairs.iter().all(|(a, b)| same_option(a.as_deref(), b.as_deref()))
                && syntax(known) == syntax(new)
                && known.minimum_upper_bound == new.minimum_upper_bound
                && known.single_value == new.single_value
                && known.collective == new.collective
                && known.no_user_modification == new.no_user_modification
                && known.usage == new.usage
        }
        Strictness::NoContradiction => {
            let compatible = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || same_option(a, b);
            pairs.iter().all(|(a, b)| compatible(a.as_deref(), b.as_deref()))
                && compatible(syntax(known).as_deref(), syntax(new).as_deref())
                && known.single_value == new.single_value
                && known.collective == new.collective
        }
    }
}

/// Compares two object classes.
pub(super) fn same_object_class(
    known: &ObjectClassDefinition,
    new: &ObjectClassDefinition,
    strictness: Strictness,
) -> bool {
    match strictness {
        Strictness::Same => {
            same_names(&known.common, &new.common)
                && known.kind == new.kind
                && same_set(&known.superiors, &new.superiors)
                && same_set(&known.must, &new.must)
                && same_set(&known.may, &new.may)
        }
        Strictness::NoContradiction => {
            known.kind == new.kind
                && subset(&new.must, &known.must)
                && new
                    .may
                    .iter()
                    .all(|name| holds(&known.may, name) || holds(&known.must, name))
        }
    }
}

/// Compares two content rules.
pub(super) fn same_content_rule(known: &ContentRuleDefinition, new: &ContentRuleDefinition) -> bool {
    same_names(&known.common, &new.common)
        && same_set(&known.auxiliary, &new.auxiliary)
        && same_set(&known.must, &new.must)
        && same_set(&known.may, &new.may)
        && same_set(&known.not, &new.not)
}

fn same_names(a: &Common, b: &Common) -> bool {
    a.obsolete == b.obsolete && same_set(&a.names, &b.names)
}

fn same_option(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        (None, None) => true,
        _ => false,
    }
}

fn holds(list: &[Box<str>], name: &str) -> bool {
    list.iter().any(|found| found.eq_ignore_ascii_case(name))
}

fn subset(a: &[Box<str>], b: &[Box<str>]) -> bool {
    a.iter().all(|name| holds(b, name))
}

fn same_set(a: &[Box<str>], b: &[Box<str>]) -> bool {
    subset(a, b) && subset(b, a)
}
