//! A filter resolved against a schema, and its evaluation.

use std::{collections::HashMap, ops::ControlFlow, ops::Range};

use smallvec::SmallVec;

use super::FilterStep;
use crate::{AttributeDescription, Budget, Filter, Schema, matching::MatchingRule};

/// Three-valued logic (RFC 4511 §4.5.1.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// The entry matches.
    True,
    /// The entry does not match.
    False,
    /// Cannot be decided: unknown attribute or rule, malformed assertion value.
    Undefined,
}

/// Number of an attribute description within one compiled filter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u16);

/// One node of a compiled filter, in preorder. `end` is the index one past the node's last descendant.
#[derive(Clone, Debug)]
pub enum FilterNode {
    /// All children.
    And {
        /// One past the last descendant.
        end: u32,
    },
    /// Any child.
    Or {
        /// One past the last descendant.
        end: u32,
    },
    /// The one child negated.
    Not {
        /// One past the last descendant.
        end: u32,
    },
    /// Always this.
    Constant(Truth),
    /// Some value of the attribute or its subtypes.
    Present(Slot),
    /// Equality (also approximate match for rules that have no phonetic form, and extensible match with `attr:rule:=`).
    Equality {
        /// Attribute.
        slot: Slot,
        /// Rule: the attribute's own, or the one the filter names.
        rule: &'static MatchingRule,
        /// Normalized assertion value, in `bytes`.
        value: Range<u32>,
        /// Whether the attribute's DN components count as values (`:dn:`).
        dn_attributes: bool,
    },
    /// Equality with any of several values: the equalities of one big `|` on one attribute, or a class and all its
    /// subclasses.
    AnyOf {
        /// Attribute.
        slot: Slot,
        /// The attribute's own equality rule. It decides by equality of normal forms.
        rule: &'static MatchingRule,
        /// Indexes into [`CompiledFilter::parts`]; the values are sorted and free of duplicates.
        values: Range<u32>,
    },
    /// Extensible match with an ordering rule: the value sorts before the assertion (RFC 4517 §4.2.4).
    Less {
        /// Attribute.
        slot: Slot,
        /// Ordering rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
        /// Whether the attribute's DN components count as values.
        dn_attributes: bool,
    },
    /// `>=`.
    GreaterOrEqual {
        /// Attribute.
        slot: Slot,
        /// Ordering rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
    },
    /// `<=`.
    LessOrEqual {
        /// Attribute.
        slot: Slot,
        /// Ordering rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
    },
    /// `~=` through the phonetic codes of `matching::approx`.
    Approx {
        /// Attribute.
        slot: Slot,
        /// Phonetic codes of the words of the assertion, joined by spaces.
        value: Range<u32>,
    },
    /// Substrings.
    Substrings {
        /// Attribute.
        slot: Slot,
        /// Substrings rule.
        rule: &'static MatchingRule,
        /// Normalized parts.
        initial: Option<Range<u32>>,
        /// Indexes into [`CompiledFilter::parts`].
        any: Range<u32>,
        /// Last part.
        r#final: Option<Range<u32>>,
    },
    /// `:rule:=` without attribute: any attribute the rule applies to.
    AnyAttribute {
        /// Rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
        /// Whether DN components count.
        dn_attributes: bool,
    },
    /// LDAP_MATCHING_RULE_IN_CHAIN 1.2.840.113556.1.4.1941: decided by [`ValueSource::in_chain`].
    InChain {
        /// A DN-valued attribute.
        slot: Slot,
        /// Normalized DN.
        value: Range<u32>,
    },
}

impl FilterNode {
    /// The attribute of an item that has one.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Self::Present(slot)
            | Self::Equality { slot, .. }
            | Self::AnyOf { slot, .. }
            | Self::Less { slot, .. }
            | Self::GreaterOrEqual { slot, .. }
            | Self::LessOrEqual { slot, .. }
            | Self::Approx { slot, .. }
            | Self::Substrings { slot, .. }
            | Self::InChain { slot, .. } => Some(*slot),
            Self::And { .. } | Self::Or { .. } | Self::Not { .. } | Self::Constant(_) | Self::AnyAttribute { .. } => {
                None
            }
        }
    }
}

/// A filter resolved against one schema. Reusable: [`CompiledFilter::compile`] keeps the memory it has.
#[derive(Clone, Debug, Default)]
pub struct CompiledFilter {
    /// Nodes in preorder; node 0 is the root.
    pub nodes: Vec<FilterNode>,
    /// Attribute descriptions by slot.
    pub slots: Vec<AttributeDescription>,
    /// Ranges of `any` parts.
    pub parts: Vec<Range<u32>>,
    /// Normalized assertion values.
    pub bytes: Vec<u8>,
    /// Whether some item asks all attributes that its rule applies to.
    pub asks_any_attribute: bool,
}

/// Which stored values may answer an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answering {
    /// Every value.
    All,
    /// No value: to this filter the attribute is not there.
    None,
    /// Each value has to be asked about.
    Each,
}

/// One value of a stored attribute.
#[derive(Clone, Copy, Debug)]
pub enum AnsweringValue<'v> {
    /// As it is stored.
    Plain(&'v [u8]),
    /// Its form by the equality rule of the attribute.
    Normalized(&'v [u8]),
}

/// Decides which values may answer: how access control takes part in evaluation.
///
/// A guard answers two questions. May there be an item about this description at all? If not, the item is Undefined.
/// May the *stored* attribute and its value answer the item, whatever the item asks for? If not, the value is taken as
/// absent. So an answer never depends on a hidden value.
pub trait Guard {
    /// Whether an item about `asked` is allowed. `assertion` is the normal form of the assertion value, if the item has
    /// exactly one.
    fn may_ask(&self, asked: &AttributeDescription, assertion: Option<&[u8]>) -> bool;
    /// Whether [`Guard::may_ask`] depends on the assertion value.
    fn asks_by_value(&self, asked: &AttributeDescription) -> bool;
    /// Which values of a stored attribute may answer.
    fn answering(&self, stored: &AttributeDescription) -> Answering;
    /// Whether this value may answer. Asked where [`Guard::answering`] returns [`Answering::Each`].
    fn may_answer(&self, stored: &AttributeDescription, value: AnsweringValue<'_>) -> bool;
}

/// Where evaluation gets values from: a stored record or an entry in memory.
pub trait ValueSource {
    /// Decides which values may answer. `None`: all.
    fn guard(&self) -> Option<&dyn Guard> {
        None
    }
    /// The budget of the evaluation. `None`: no limit. Once it is exhausted, the result means nothing.
    fn budget(&self) -> Option<&Budget> {
        None
    }
    /// Calls `visit` with each value of the attribute of `slot`, its subtypes and its option supersets (RFC 4512 §2.5),
    /// as stored (not normalized), until `visit` breaks. Like the other functions, it passes only values that the guard
    /// allows.
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>);
    /// Calls `visit` with the values of every attribute whose syntax `rule` applies to.
    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>);
    /// Calls `visit` with the values in the entry's DN whose type is that of `slot` (`None`: any type that `rule`
    /// applies to).
    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    );
    /// Whether a value set that is too big to scan holds a value with this normal form. `None`: the set is not that
    /// big; scan it.
    fn holds_normalized(&self, slot: Slot, normalized: &[u8]) -> Option<bool>;
    /// Whether the entry reaches the DN `target` through the DN-valued attribute of `slot`, in any number of steps,
    /// through values that the guard allows.
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth;
}

impl CompiledFilter {
    /// Resolves `filter`. Items that cannot be resolved become `Constant(Undefined)`. This never fails.
    ///
    /// Every node of `filter` becomes one node here, with these exceptions: `(&)` and `(|)` are constants,
    /// `(objectClass=top)` is presence, and at least [`ANY_OF_THRESHOLD`] equalities on one attribute in an `|` become
    /// one [`FilterNode::AnyOf`].
    pub fn compile(&mut self, schema: &Schema, filter: &Filter<'_>) {
        self.compile_within(schema, filter, None);
    }
    /// As [`CompiledFilter::compile`], within a budget. If the budget is exhausted, the result means nothing.
    pub fn compile_within(&mut self, schema: &Schema, filter: &Filter<'_>, budget: Option<&Budget>) {
        self.clear();
        let mut compiler = Compiler::new(self, schema);
        let mut open: SmallVec<[usize; 16]> = SmallVec::new();
        let mut gathered = Vec::new();
        for step in filter.steps() {
            match step {
                FilterStep::Enter(entered) => {
                    if budget.is_some_and(|budget| !budget.spend(entered.cost())) {
                        compiler.filter.clear();
                        return;
                    }
                    let node = match entered {
                        Filter::And(_) => FilterNode::And { end: 0 },
                        Filter::Or(_) => FilterNode::Or { end: 0 },
                        Filter::Not(_) => FilterNode::Not { end: 0 },
                        item => compiler.item(item).unwrap_or(FilterNode::Constant(Truth::Undefined)),
                    };
                    if matches!(
                        node,
                        FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. }
                    ) {
                        open.push(compiler.filter.nodes.len());
                    }
                    compiler.filter.asks_any_attribute |= matches!(node, FilterNode::AnyAttribute { .. });
                    compiler.filter.nodes.push(node);
                }
                FilterStep::Leave(_) => {
                    if let Some(index) = open.pop() {
                        compiler.filter.close(index, &mut gathered);
                    }
                }
            }
        }
        if !gathered.is_empty() {
            self.remove(gathered);
        }
    }
    /// Removes the filter and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.slots.clear();
        self.parts.clear();
        self.bytes.clear();
        self.asks_any_attribute = false;
    }
    /// The bytes of a range.
    pub fn value(&self, range: &Range<u32>) -> &[u8] {
        self.bytes
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }
    /// The parts in a range.
    pub(super) fn parts_of(&self, range: &Range<u32>) -> &[Range<u32>] {
        self.parts
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }
    /// The values of a range of parts: those of [`FilterNode::AnyOf`], or the `any` parts of
    /// [`FilterNode::Substrings`].
    pub fn part_values(&self, range: &Range<u32>) -> impl ExactSizeIterator<Item = &[u8]> {
        let parts = self
            .parts
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default();
        parts.iter().map(|part| self.value(part))
    }
    /// The description of a slot.
    pub fn slot(&self, slot: Slot) -> Option<&AttributeDescription> {
        self.slots.get(usize::from(slot.0))
    }

    /// Completes the connective at `index`, of which all operands are there.
    fn close(&mut self, index: usize, gathered: &mut Vec<u32>) {
        let empty = index + 1 == self.nodes.len();
        if matches!(self.nodes.get(index), Some(FilterNode::Or { .. })) && !empty {
            self.gather(index, gathered);
        }
        let after = length(&self.nodes);
        match self.nodes.get_mut(index) {
            Some(node @ FilterNode::And { .. }) if empty => *node = FilterNode::Constant(Truth::True),
            Some(node @ FilterNode::Or { .. }) if empty => *node = FilterNode::Constant(Truth::False),
            Some(FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end }) => *end = after,
            _ => {}
        }
    }

    /// Joins the equalities on one attribute among the operands of the `|` at `index` into one node, in the place of
    /// the first. The others are noted in `gathered` and removed later. So each node moves once, whatever the nesting.
    fn gather(&mut self, index: usize, gathered: &mut Vec<u32>) {
        let mut count = 0;
        self.operands(index, |_, node| count += usize::from(plain_equality(node).is_some()));
        if count < ANY_OF_THRESHOLD {
            return;
        }
        let mut equalities: Vec<(Slot, &'static MatchingRule, Range<u32>, usize)> = Vec::with_capacity(count);
        self.operands(index, |at, node| {
            equalities.extend(plain_equality(node).map(|(slot, rule, value)| (slot, rule, value, at)));
        });
        let bytes = &self.bytes;
        let of = |range: &Range<u32>| bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
        equalities.sort_unstable_by(|a, b| {
            (a.0.0, a.1.oid)
                .cmp(&(b.0.0, b.1.oid))
                .then_with(|| of(&a.2).cmp(of(&b.2)))
        });
        for group in equalities.chunk_by(|a, b| a.0 == b.0 && a.1 == b.1) {
            let first = group.iter().map(|(.., at)| *at).min();
            let (Some(&(slot, rule, ..)), Some(first)) = (group.first(), first) else {
                continue;
            };
            if group.len() < ANY_OF_THRESHOLD {
                continue;
            }
            let start = length(&self.parts);
            for (_, _, value, at) in group {
                let last = self.parts.get(start as usize..).and_then(<[_]>::last);
                if last.is_none_or(|last| of(last) != of(value)) {
                    self.parts.push(value.clone());
                }
                if *at != first {
                    gathered.extend(u32::try_from(*at));
                }
            }
            if let Some(node) = self.nodes.get_mut(first) {
                *node = FilterNode::AnyOf {
                    slot,
                    rule,
                    values: start..length(&self.parts),
                };
            }
        }
    }

    /// Removes the nodes at these indexes. They have no descendants.
    fn remove(&mut self, mut indexes: Vec<u32>) {
        indexes.sort_unstable();
        for node in &mut self.nodes {
            if let FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } = node {
                let before = indexes.partition_point(|index| *index < *end);
                *end -= u32::try_from(before).unwrap_or(*end);
            }
        }
        let mut gone = indexes.iter().map(|index| *index as usize).peekable();
        let mut at = 0;
        self.nodes.retain(|_| {
            let keep = gone.next_if_eq(&at).is_none();
            at += 1;
            keep
        });
    }

    /// Calls `visit` with each operand of the last connective, which begins at `index`, and with the operand's index.
    fn operands(&self, index: usize, mut visit: impl FnMut(usize, &FilterNode)) {
        let mut at = index + 1;
        while let Some(node) = self.nodes.get(at) {
            let end = match node {
                FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => *end as usize,
                _ => at + 1,
            };
            visit(at, node);
            at = end.max(at + 1);
        }
    }
}

fn plain_equality(node: &FilterNode) -> Option<(Slot, &'static MatchingRule, Range<u32>)> {
    match node {
        FilterNode::Equality {
            slot,
            rule,
            value,
            dn_attributes: false,
        } if rule.evaluate.is_none() && rule.expand.is_none() => Some((*slot, rule, value.clone())),
        _ => None,
    }
}

pub(super) fn length<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// The number of equalities on one attribute from which a [`FilterNode::AnyOf`] is made.
pub const ANY_OF_THRESHOLD: usize = 4;

/// The state of one compilation.
pub(super) struct Compiler<'c> {
    pub(super) filter: &'c mut CompiledFilter,
    pub(super) schema: &'c Schema,
    /// Slots by description, once there are too many to search one by one.
    numbers: HashMap<AttributeDescription, u16>,
}

impl<'c> Compiler<'c> {
    pub(super) fn new(filter: &'c mut CompiledFilter, schema: &'c Schema) -> Self {
        Self {
            filter,
            schema,
            numbers: HashMap::new(),
        }
    }
    /// The slot of a description; `None` past 65,536 of them.
    pub(super) fn slot(&mut self, description: AttributeDescription) -> Option<Slot> {
        const MANY: usize = 32;
        let slots = &mut self.filter.slots;
        let known = if slots.len() < MANY {
            let position = slots.iter().position(|known| *known == description);
            position.and_then(|n| u16::try_from(n).ok())
        } else {
            if self.numbers.is_empty() {
                self.numbers.extend(slots.iter().cloned().zip(0..));
            }
            self.numbers.get(&description).copied()
        };
        if let Some(number) = known {
            return Some(Slot(number));
        }
        let number = u16::try_from(slots.len()).ok()?;
        if slots.len() >= MANY {
            self.numbers.insert(description.clone(), number);
        }
        slots.push(description);
        Some(Slot(number))
    }
}
