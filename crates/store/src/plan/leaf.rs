//! From one filter item to the posting lists that hold its candidates.

use std::{ops::Range, sync::Arc};

use ironbark_model::{
    AttributeDescription,
    filter::{Slot, compiled::FilterNode},
    matching::MatchingRule,
};
use smallvec::SmallVec;

use super::{Chain, planner::Planner, range::KeyRange};
use crate::{
    StoreError,
    catalog::{Index, IndexKind},
    hash,
    keys::{self, END, ORDERED_LIMIT, START},
    posting::{IdSet, ListName},
    view::equality::list_of,
};

/// A list, or all lists whose keys begin with `key` and go on for `tail` bytes.
#[derive(Clone, Debug)]
pub(super) struct ListKey {
    pub(super) key: ListName,
    pub(super) tail: usize,
}

/// Lists.
pub(super) type Lists = SmallVec<[ListKey; 1]>;

/// Lists that one item may ask for; reading more costs about as much as a scan.
const MOST_LISTS: usize = 16_384;

/// What one item asks of the indexes.
pub(super) enum Leaf {
    /// Any of the lists; `true`: all IDs match.
    Union(Lists, bool),
    /// All of the lists.
    Intersection(Lists),
    /// A stretch of an ordered index.
    Range(KeyRange),
    /// Known already.
    Set(IdSet, bool),
    /// Any entry may match.
    Everything,
    /// No index.
    Unknown,
}

impl Planner<'_, '_> {
    fn description(&self, slot: Slot) -> Option<&AttributeDescription> {
        self.filter.slots.get(usize::from(slot.0))
    }
    fn index(&self, asked: &AttributeDescription, kinds: &[IndexKind]) -> Option<&Index> {
        self.view.serving_index(asked, kinds)
    }
    /// Whether some entry holds an attribute that answers.
    fn is_stored(&self, asked: &AttributeDescription) -> bool {
        self.view.catalog.numbers_of(asked).next().is_some()
    }

    pub(super) fn leaf(&mut self, at: usize) -> Result<Leaf, StoreError> {
        let Some(node) = self.filter.nodes.get(at) else {
            return Ok(Leaf::Unknown);
        };
        let Some(slot) = node.slot() else {
            return Ok(Leaf::Unknown);
        };
        // The DN of an entry is not in the index of its attributes (a value may be part of a superior's name).
        if matches!(
            node,
            FilterNode::Equality {
                dn_attributes: true,
                ..
            } | FilterNode::Less {
                dn_attributes: true,
                ..
            }
        ) {
            return Ok(Leaf::Unknown);
        }
        let Some(asked) = self.description(slot) else {
            return Ok(Leaf::Unknown);
        };
        if !self.is_stored(asked) {
            return Ok(Leaf::Set(IdSet::Nothing, true));
        }
        Ok(match node {
            FilterNode::Present(_) => self.presence(asked),
            FilterNode::Equality { rule, value, .. } => self.equality(asked, rule, value),
            FilterNode::GreaterOrEqual { rule, value, .. } => self.inequality(asked, rule, value, true),
            FilterNode::AnyOf { rule, values, .. } => self.any_of(asked, rule, values),
            FilterNode::LessOrEqual { rule, value, .. } | FilterNode::Less { rule, value, .. } => {
                self.inequality(asked, rule, value, false)
            }
            FilterNode::Approx { value, .. } => self.approximate(asked, value),
            FilterNode::Substrings {
                rule,
                initial,
                any,
                r#final,
                ..
            } => self.substrings(asked, rule, initial.as_ref(), any, r#final.as_ref()),
            FilterNode::InChain { value, .. } => return self.chain(slot, value),
            _ => Leaf::Unknown,
        })
    }

    fn presence(&self, asked: &AttributeDescription) -> Leaf {
        if Some(asked.attribute_type) == self.view.catalog.special.object_class && asked.options.is_empty() {
            return Leaf::Everything;
        }
        let Some(index) = self.index(asked, &[IndexKind::Presence]) else {
            return Leaf::Unknown;
        };
        // Exact when nothing else goes into the index.
        let exact = index.attribute_type == asked.attribute_type && asked.options.is_empty();
        Leaf::Union(SmallVec::from_elem(list(index, &[], 0), 1), exact)
    }

    /// Whether values match by what stands behind their `{n}`, which no index has.
    fn is_ordered(&self, asked: &AttributeDescription) -> bool {
        self.view.catalog.schema.attribute_type(asked.attribute_type).is_ordered
    }

    fn equality(&self, asked: &AttributeDescription, rule: &MatchingRule, value: &Range<u32>) -> Leaf {
        let Some(index) = self.view.equality_index(asked, rule) else {
            return Leaf::Unknown;
        };
        let normal = self.filter.value(value);
        // A longer value may have the same key as one that fills it.
        let exact = index.stored.kind == IndexKind::EqualityOrdered
            && normal.len() < ORDERED_LIMIT
            && index.attribute_type == asked.attribute_type
            && asked.options.is_empty();
        Leaf::Union(SmallVec::from_elem(equality_list(index, normal), 1), exact)
    }

    fn any_of(&self, asked: &AttributeDescription, rule: &MatchingRule, values: &Range<u32>) -> Leaf {
        let kinds = [IndexKind::EqualityHash, IndexKind::EqualityOrdered];
        let Some(index) = self.index(asked, &kinds).filter(|index| index.rule == Some(rule)) else {
            return Leaf::Unknown;
        };
        let values = self.filter.part_values(values);
        if values.len() > MOST_LISTS || self.is_ordered(asked) {
            return Leaf::Unknown;
        }
        Leaf::Union(values.map(|value| equality_list(index, value)).collect(), false)
    }

    fn inequality(&self, asked: &AttributeDescription, rule: &MatchingRule, value: &Range<u32>, greater: bool) -> Leaf {
        let Some(index) = self.index(asked, &[IndexKind::EqualityOrdered]) else {
            return Leaf::Unknown;
        };
        let own = self.view.catalog.schema.attribute_type(index.attribute_type).ordering;
        // The equality rule makes the keys.
        let is_in_order = index.rule.is_some_and(|equality| rule.normalizes_as(equality));
        if own != Some(rule) || rule.evaluate.is_some() || !is_in_order {
            return Leaf::Unknown;
        }
        let mut bound = index.prefix.to_vec();
        keys::put_ordered_open(self.filter.value(value), &mut bound);
        Leaf::Range(if greater {
            KeyRange::from(index, bound)
        } else {
            KeyRange::up_to(index, bound)
        })
    }

    fn approximate(&self, asked: &AttributeDescription, value: &Range<u32>) -> Leaf {
        let index = self.index(asked, &[IndexKind::Approximate]);
        let Some(index) = index.filter(|index| index.rule.is_some()) else {
            return Leaf::Unknown;
        };
        let codes = self
            .filter
            .value(value)
            .split(|&c| c == b' ')
            .filter(|code| !code.is_empty());
        let lists: Lists = codes
            .take(16)
            .map(|code| list(index, &hash::index_hash(code), 0))
            .collect();
        if lists.is_empty() {
            // An assertion without words matches nothing.
            Leaf::Set(IdSet::Nothing, true)
        } else {
            Leaf::Intersection(lists)
        }
    }

    fn substrings(
        &self,
        asked: &AttributeDescription,
        rule: &MatchingRule,
        initial: Option<&Range<u32>>,
        any: &Range<u32>,
        last: Option<&Range<u32>>,
    ) -> Leaf {
        let Some(index) = self
            .index(asked, &[IndexKind::Substring])
            .filter(|index| index.rule == Some(rule))
        else {
            return Leaf::Unknown;
        };
        let mut lists = Lists::new();
        let mut framed = Vec::new();
        let any = self
            .filter
            .parts
            .get(any.start as usize..any.end as usize)
            .unwrap_or_default();
        let parts = initial
            .map(|part| (part, true, false))
            .into_iter()
            .chain(any.iter().map(|part| (part, false, false)))
            .chain(last.map(|part| (part, false, true)));
        for (part, starts, ends) in parts {
            framed.clear();
            framed.extend(starts.then_some(START));
            framed.extend_from_slice(self.filter.value(part));
            framed.extend(ends.then_some(END));
            // One byte before the end mark is the end of trigrams and the beginning of none.
            if framed.len() > 2 || !ends {
                push_trigrams(index, &framed, &mut lists);
            }
        }
        if lists.is_empty() {
            Leaf::Unknown
        } else {
            Leaf::Intersection(lists)
        }
    }

    fn chain(&mut self, slot: Slot, value: &Range<u32>) -> Result<Leaf, StoreError> {
        let target = self.filter.value(value);
        let kinds = [IndexKind::EqualityHash, IndexKind::EqualityOrdered];
        let Some(asked) = self.description(slot) else {
            return Ok(Leaf::Unknown);
        };
        let known = |chain: &&Chain| chain.asked == *asked && *chain.target == *target;
        if let Some(chain) = self.chains.iter().find(known) {
            return Ok(Leaf::Set((*chain.found).clone(), true));
        }
        let Some(index) = self.index(asked, &kinds) else {
            return Ok(Leaf::Unknown);
        };
        let Some(found) = self.view.chain_to(index, asked, target, self.guards)? else {
            return Ok(Leaf::Unknown);
        };
        let chain = Chain {
            asked: asked.clone(),
            target: target.into(),
            found: Arc::new(found.clone()),
        };
        self.chains.push(chain);
        Ok(Leaf::Set(found, true))
    }
}

/// Trigram lists of one framed part; a part of two bytes asks for all trigrams that begin so, a shorter one for
/// nothing.
fn push_trigrams(index: &Index, framed: &[u8], lists: &mut Lists) {
    /// More lists make the look-up cost more than the verification that they save.
    const MOST: usize = 12;
    let mut push = |trigram: &[u8], tail| {
        let key = list(index, trigram, tail);
        if lists.len() < MOST && !lists.iter().any(|old| old.key == key.key) {
            lists.push(key);
        }
    };
    if framed.len() == 2 {
        push(framed, 1);
    }
    // From both ends inwards: the ends tell long parts apart best.
    let count = framed.len().saturating_sub(2);
    for step in 0..count {
        let at = if step % 2 == 0 { step / 2 } else { count - 1 - step / 2 };
        if let Some(trigram) = framed.get(at..at + 3) {
            push(trigram, 0);
        }
    }
}

fn list(index: &Index, key: &[u8], tail: usize) -> ListKey {
    let mut bytes: ListName = SmallVec::from_slice(&index.prefix);
    bytes.extend_from_slice(key);
    ListKey { key: bytes, tail }
}

fn equality_list(index: &Index, normal: &[u8]) -> ListKey {
    ListKey {
        key: list_of(index, normal),
        tail: 0,
    }
}
