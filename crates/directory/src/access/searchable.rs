//! What of a filter a subject may search.

use std::ops::Range;

use ironbark_config::access::Privileges;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Truth,
    filter::{Slot, compiled::Node},
};
use smallvec::SmallVec;

use super::{Check, Target};

/// Whether an attribute may be searched, whatever is asserted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searchable {
    Yes,
    No,
    /// It depends on the value.
    Single,
}

/// A copy of the filter in which every item on which the subject lacks the privilege (to search) is Undefined; `None` if there is none.
pub(super) fn hide(check: &Check<'_>, filter: &CompiledFilter, privilege: Privileges) -> Option<CompiledFilter> {
    let of_slot = |description: &AttributeDescription| {
        let may = check.permits(Target::Attribute(description, None), privilege);
        match (check.is_decided_by_value(description), may) {
            (true, _) => Searchable::Single,
            (false, true) => Searchable::Yes,
            (false, false) => Searchable::No,
        }
    };
    let slots: SmallVec<[Searchable; 16]> = filter.slots.iter().map(of_slot).collect();
    // An item without an attribute could be about any of them.
    let has_any_attribute = filter
        .nodes
        .iter()
        .any(|node| matches!(node, Node::AnyAttribute { .. }));
    if slots.iter().all(|searchable| *searchable == Searchable::Yes) && !has_any_attribute {
        return None;
    }
    let is_hidden = |slot: Slot, value: Option<&Range<u32>>| {
        let searchable = slots.get(usize::from(slot.0)).copied().unwrap_or(Searchable::No);
        match (searchable, filter.slots.get(usize::from(slot.0))) {
            (Searchable::Yes, _) => false,
            (Searchable::Single, Some(description)) => {
                let target = match value.and_then(|range| bytes(filter, range)) {
                    Some(value) => Target::Asserted(description, value),
                    None => Target::Attribute(description, None),
                };
                !check.permits(target, privilege)
            }
            _ => true,
        }
    };
    let mut visible = filter.clone();
    let mut hides = false;
    for node in &mut visible.nodes {
        let hide = match node {
            Node::And { .. } | Node::Or { .. } | Node::Not { .. } | Node::Constant(_) => false,
            Node::AnyAttribute { .. } => true,
            Node::Present(slot) | Node::Substrings { slot, .. } => is_hidden(*slot, None),
            Node::AnyOf { slot, values, .. } => {
                let range = values.start as usize..values.end as usize;
                let parts = filter.parts.get(range).unwrap_or_default();
                parts.iter().any(|part| is_hidden(*slot, Some(part)))
            }
            Node::Equality { slot, value, .. }
            | Node::Less { slot, value, .. }
            | Node::GreaterOrEqual { slot, value, .. }
            | Node::LessOrEqual { slot, value, .. }
            | Node::Approx { slot, value, .. }
            | Node::InChain { slot, value, .. } => is_hidden(*slot, Some(value)),
        };
        if hide {
            *node = Node::Constant(Truth::Undefined);
            hides = true;
        }
    }
    hides.then_some(visible)
}

fn bytes<'f>(filter: &'f CompiledFilter, range: &Range<u32>) -> Option<&'f [u8]> {
    filter.bytes.get(range.start as usize..range.end as usize)
}
