//! Three-valued evaluation (RFC 4511 §4.5.1.7).

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;

use super::{
    compiled::{CompiledFilter, FilterNode, Guard, Slot, Truth, ValueSource},
    forms::FormCache,
    one_value::OneValue,
    ordered::{behind_place, is_ordered},
};
use crate::{
    AttributeDescription, Budget, Schema,
    budget::cost_of,
    matching::{self, MatchingRule},
};

impl std::ops::Not for Truth {
    type Output = Self;
    /// Undefined stays Undefined.
    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Undefined => Self::Undefined,
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// An open connective: its node, the index one past its last descendant, and its truth so far.
struct Frame<'f> {
    node: &'f FilterNode,
    end: usize,
    so_far: Truth,
}

impl Frame<'_> {
    /// Adds the truth of an operand. `Some`: the connective is decided.
    fn fold(&mut self, operand: Truth) -> Option<Truth> {
        let deciding = match self.node {
            FilterNode::And { .. } => Truth::False,
            FilterNode::Or { .. } => Truth::True,
            _ => return Some(!operand),
        };
        if operand == Truth::Undefined {
            self.so_far = Truth::Undefined;
        }
        (operand == deciding).then_some(deciding)
    }
}

impl CompiledFilter {
    /// Whether the filter has so many items that each one is counted.
    #[inline]
    pub fn is_big(&self) -> bool {
        self.nodes.len() > FEW
    }

    /// Evaluates against one entry. `scratch` is working memory that is reused.
    ///
    /// Iterative: the depth of a filter costs no stack. Operands are evaluated in order, until one decides.
    pub fn evaluate(&self, schema: &Schema, source: &dyn ValueSource, scratch: &mut Vec<u8>) -> Truth {
        let guard = source.guard();
        if let [node] = self.nodes.as_slice()
            && !matches!(
                node,
                FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. }
            )
        {
            let mut memory = Memory { scratch, forms: None };
            return self.leaf(node, guard, schema, source, &mut memory);
        }
        let mut open: SmallVec<[Frame<'_>; 16]> = SmallVec::new();
        let mut at = 0;
        let is_big = self.is_big();
        let budget = if is_big { source.budget() } else { None };
        let mut memory = Memory {
            scratch,
            forms: is_big.then(FormCache::default),
        };
        loop {
            if budget.is_some_and(|budget| !budget.spend(NODE_STEPS)) {
                return Truth::Undefined;
            }
            let Some(node) = self.nodes.get(at) else {
                return Truth::Undefined;
            };
            let connective = match node {
                FilterNode::And { end } => Some((*end, Truth::True)),
                FilterNode::Or { end } => Some((*end, Truth::False)),
                FilterNode::Not { end } => Some((*end, Truth::Undefined)),
                _ => None,
            };
            at += 1;
            if let Some((end, so_far)) = connective {
                open.push(Frame {
                    node,
                    end: end as usize,
                    so_far,
                });
                continue;
            }
            let mut truth = self.leaf(node, guard, schema, source, &mut memory);
            loop {
                let Some(frame) = open.last_mut() else {
                    return truth;
                };
                match frame.fold(truth) {
                    Some(decided) => truth = decided,
                    None if at < frame.end => break,
                    None => truth = frame.so_far,
                }
                at = frame.end;
                open.pop();
            }
        }
    }

    /// Evaluates one item, by its index among the nodes. A connective, or an index past the end, is Undefined.
    pub fn evaluate_item(&self, at: usize, schema: &Schema, source: &dyn ValueSource, scratch: &mut Vec<u8>) -> Truth {
        match self.nodes.get(at) {
            None | Some(FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. }) => Truth::Undefined,
            Some(node) => {
                let mut memory = Memory { scratch, forms: None };
                self.leaf(node, source.guard(), schema, source, &mut memory)
            }
        }
    }

    /// The truth of an item, as far as it is allowed.
    fn leaf(
        &self,
        node: &FilterNode,
        guard: Option<&dyn Guard>,
        schema: &Schema,
        source: &dyn ValueSource,
        memory: &mut Memory<'_>,
    ) -> Truth {
        let refused = guard.and_then(|guard| self.guarded(node, guard, schema, source, memory));
        refused.unwrap_or_else(|| self.item(node, schema, source, memory))
    }

    /// Whether one value satisfies this filter, for the matched values control (RFC 3876). The filter is an item or an
    /// `|` of items. An item is true of a value when it is about the value's attribute and holds for the value.
    pub fn matches_value(
        &self,
        schema: &Schema,
        description: &AttributeDescription,
        value: &[u8],
        budget: Option<&Budget>,
        scratch: &mut Vec<u8>,
    ) -> bool {
        let source = OneValue {
            filter: self,
            schema,
            description,
            value,
            budget,
        };
        self.evaluate(schema, &source, scratch) == Truth::True
    }

    /// The truth of an item that is forbidden, or partly forbidden; `None` if it is allowed.
    fn guarded(
        &self,
        node: &FilterNode,
        guard: &dyn Guard,
        schema: &Schema,
        source: &dyn ValueSource,
        memory: &mut Memory<'_>,
    ) -> Option<Truth> {
        match self.permission(node, guard) {
            Permission::Whole => None,
            Permission::None => Some(Truth::Undefined),
            Permission::ByValue(slot, rule, parts) => {
                let mut values = Values {
                    filter: self,
                    schema,
                    source,
                    memory,
                };
                Some(values.any_allowed(slot, rule, self.parts_of(parts), guard))
            }
        }
    }

    /// Evaluates an item on the values that may answer it.
    #[inline]
    fn item(&self, node: &FilterNode, schema: &Schema, source: &dyn ValueSource, memory: &mut Memory<'_>) -> Truth {
        let mut values = Values {
            filter: self,
            schema,
            source,
            memory,
        };
        match node {
            FilterNode::Constant(truth) => return *truth,
            FilterNode::InChain { slot, value } => return source.in_chain(*slot, self.value(value)),
            FilterNode::Present(slot) => values.present(*slot),
            FilterNode::Equality {
                slot,
                rule,
                value,
                dn_attributes,
            } => values.equality(*slot, rule, value, *dn_attributes),
            FilterNode::AnyOf {
                slot,
                rule,
                values: parts,
            } => values.any_of(*slot, rule, self.parts_of(parts)),
            FilterNode::Less {
                slot,
                rule,
                value,
                dn_attributes,
            } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, *dn_attributes, |value| value < assertion)
            }
            FilterNode::GreaterOrEqual { slot, rule, value } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, false, |value| value >= assertion)
            }
            FilterNode::LessOrEqual { slot, rule, value } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, false, |value| value <= assertion)
            }
            FilterNode::Approx { slot, value } => values.approx(*slot, self.value(value)),
            FilterNode::Substrings {
                slot,
                rule,
                initial,
                any,
                r#final,
            } => {
                let end = |range: &Option<Range<u32>>| range.as_ref().map_or(&b""[..], |range| self.value(range));
                values.substrings(*slot, rule, end(initial), any, end(r#final))
            }
            FilterNode::AnyAttribute {
                rule,
                value,
                dn_attributes,
            } => {
                let assertion = self.value(value);
                values.any(None, rule, *dn_attributes, |value| {
                    rule.matches(schema, value, assertion)
                })
            }
            FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => false,
        }
        .into()
    }
}

/// Whether an item is allowed.
enum Permission<'f> {
    Whole,
    None,
    /// The item stands for several equalities. Each is checked on its own.
    ByValue(Slot, &'static MatchingRule, &'f Range<u32>),
}

impl CompiledFilter {
    fn permission<'f>(&'f self, node: &'f FilterNode, guard: &dyn Guard) -> Permission<'f> {
        let (slot, value) = match node {
            FilterNode::Constant(_)
            | FilterNode::AnyAttribute { .. }
            | FilterNode::And { .. }
            | FilterNode::Or { .. }
            | FilterNode::Not { .. } => {
                return Permission::Whole;
            }
            FilterNode::AnyOf { slot, rule, values } => {
                if self.slot(*slot).is_some_and(|asked| guard.asks_by_value(asked)) {
                    return Permission::ByValue(*slot, rule, values);
                }
                (*slot, None)
            }
            FilterNode::Present(slot) | FilterNode::Substrings { slot, .. } | FilterNode::Approx { slot, .. } => {
                (*slot, None)
            }
            FilterNode::Equality { slot, value, .. }
            | FilterNode::Less { slot, value, .. }
            | FilterNode::GreaterOrEqual { slot, value, .. }
            | FilterNode::LessOrEqual { slot, value, .. }
            | FilterNode::InChain { slot, value, .. } => (*slot, Some(self.value(value))),
        };
        match self.slot(slot) {
            Some(asked) if guard.may_ask(asked, value) => Permission::Whole,
            _ => Permission::None,
        }
    }
}

/// Up to this number, nodes of a filter, normalized values and parts of an assertion are not counted.
const FEW: usize = 16;
/// Steps for one item of a filter with many items.
const NODE_STEPS: u64 = 2;
/// Up to this number, octets of values are not counted.
const SHORT: usize = 512;
/// Octets that each value costs in addition to its own.
const OF_VALUE: usize = 16;
/// Normal forms that an item compares in about one step.
const FORMS_PER_STEP: usize = 2;
/// Steps for finding a value in a big set.
const LOOK_UP_STEPS: u64 = 10;

/// Takes steps. False: none are left.
pub(super) fn afford(source: &dyn ValueSource, steps: u64) -> bool {
    source.budget().is_none_or(|budget| budget.spend(steps))
}

/// Takes the steps for normalizing a value. `seen` counts the octets of the values before it; few octets in all cost
/// nothing.
#[inline]
fn afford_value(source: &dyn ValueSource, seen: &mut usize, value: &[u8]) -> bool {
    *seen += value.len() + OF_VALUE;
    *seen <= SHORT || afford(source, cost_of(value))
}

fn stop_when(found: bool) -> ControlFlow<()> {
    if found {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The part of a value between its beginning and its end.
fn between<'v>(value: &'v [u8], initial: &[u8], r#final: &[u8]) -> Option<&'v [u8]> {
    // A comparison with an empty slice may cost 100 ns: some processors take a fault when they compare no octets at an
    // invalid address.
    let rest = match initial {
        [] => value,
        initial => value.strip_prefix(initial)?,
    };
    match r#final {
        [] => Some(rest),
        r#final => rest.strip_suffix(r#final),
    }
}

fn contains_in_order<'p>(text: &[u8], parts: impl Iterator<Item = &'p [u8]>, source: &dyn ValueSource) -> bool {
    let mut rest = text;
    for (number, part) in parts.enumerate() {
        // Preparing the search for a long part takes long.
        if part.len() > rest.len() || (number >= FEW && !afford(source, 1)) {
            return false;
        }
        let Some(at) = memchr::memmem::find(rest, part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

/// The working memory of one evaluation.
struct Memory<'m> {
    scratch: &'m mut Vec<u8>,
    /// Only for filters with many items.
    forms: Option<FormCache>,
}

/// The values that one item looks at.
struct Values<'e, 'm> {
    filter: &'e CompiledFilter,
    schema: &'e Schema,
    source: &'e dyn ValueSource,
    memory: &'e mut Memory<'m>,
}

impl Values<'_, '_> {
    /// Evaluates an `|` of several equalities, some of which are forbidden.
    fn any_allowed(
        &mut self,
        slot: Slot,
        rule: &'static MatchingRule,
        parts: &[Range<u32>],
        guard: &dyn Guard,
    ) -> Truth {
        let Some(asked) = self.filter.slot(slot) else {
            return Truth::Undefined;
        };
        let mut allowed = Vec::with_capacity(parts.len());
        for part in parts {
            if !afford(self.source, 1) {
                return Truth::Undefined;
            }
            if guard.may_ask(asked, Some(self.filter.value(part))) {
                allowed.push(part.clone());
            }
        }
        if self.any_of(slot, rule, &allowed) {
            Truth::True
        } else if allowed.len() < parts.len() {
            Truth::Undefined
        } else {
            Truth::False
        }
    }

    fn present(&self, slot: Slot) -> bool {
        let mut found = false;
        self.source.values(slot, &mut |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }

    /// Whether normal forms of many values have been kept for several items.
    fn are_many(&mut self, slot: Slot, rule: &'static MatchingRule) -> bool {
        let known = self.memory.forms.as_ref().and_then(|forms| forms.made(slot, rule));
        known.is_some_and(|forms| forms.len() > FEW)
    }

    /// Whether `test` holds for the normal form of some value. `slot` is `None` for every attribute that the rule
    /// applies to.
    fn any(
        &mut self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        dn_attributes: bool,
        test: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let (schema, source) = (self.schema, self.source);
        let Memory { scratch, forms } = &mut *self.memory;
        if let (Some(slot), false, Some(forms)) = (slot, dn_attributes, forms)
            && let Some(forms) = forms.of(schema, source, slot, rule)
        {
            return afford(source, (forms.len() / FORMS_PER_STEP) as u64) && forms.iter().any(test);
        }
        let (mut found, mut seen) = (false, 0);
        let mut visit = |value: &[u8]| {
            if !afford_value(source, &mut seen, value) {
                return ControlFlow::Break(());
            }
            scratch.clear();
            found |= (rule.normalize_value)(schema, value, scratch).is_ok() && test(scratch);
            stop_when(found)
        };
        match slot {
            Some(slot) => self.source.values(slot, &mut visit),
            None => self.source.values_for_rule(rule, &mut visit),
        }
        // Once a value was found, the search of further values stops at once.
        if dn_attributes {
            self.source.dn_values(slot, rule, &mut visit);
        }
        found
    }

    fn equality(&mut self, slot: Slot, rule: &'static MatchingRule, value: &Range<u32>, dn_attributes: bool) -> bool {
        let assertion = self.filter.value(value);
        if self.is_own_rule(slot, rule) {
            match self.source.holds_normalized(slot, assertion) {
                Some(true) => return true,
                Some(false) if !dn_attributes && !self.is_ordered(slot) => return false,
                _ => {}
            }
        }
        let (schema, filter) = (self.schema, self.filter);
        self.any(Some(slot), rule, dn_attributes, |value| {
            rule.matches(schema, value, assertion)
                || behind_place(schema, filter, slot, value).is_some_and(|value| rule.matches(schema, value, assertion))
        })
    }

    /// Whether values of the attribute have a place before them that an assertion need not name.
    fn is_ordered(&self, slot: Slot) -> bool {
        is_ordered(self.schema, self.filter, slot)
    }

    /// Whether some value equals one of the assertion values `parts`, which are sorted.
    fn any_of(&mut self, slot: Slot, rule: &'static MatchingRule, parts: &[Range<u32>]) -> bool {
        let filter = self.filter;
        let Some((first, others)) = parts.split_first() else {
            return false;
        };
        match self.source.holds_normalized(slot, filter.value(first)) {
            Some(true) => return true,
            Some(false) => {
                let mut are_known = true;
                for part in others {
                    if !afford(self.source, LOOK_UP_STEPS) {
                        return false;
                    }
                    match self.source.holds_normalized(slot, filter.value(part)) {
                        Some(true) => return true,
                        Some(false) => {}
                        None => are_known = false,
                    }
                }
                if are_known && !self.is_ordered(slot) {
                    return false;
                }
            }
            None => {}
        }
        let schema = self.schema;
        let is_part = |value: &[u8]| parts.binary_search_by(|part| filter.value(part).cmp(value)).is_ok();
        self.any(Some(slot), rule, false, |value| {
            is_part(value) || behind_place(schema, filter, slot, value).is_some_and(is_part)
        })
    }

    fn substrings(
        &mut self,
        slot: Slot,
        rule: &'static MatchingRule,
        initial: &[u8],
        any: &Range<u32>,
        r#final: &[u8],
    ) -> bool {
        let (filter, source) = (self.filter, self.source);
        // An assertion value that is compared with many values is prepared once.
        if self.are_many(slot, rule)
            && let [part] = filter.parts_of(any)
        {
            let finder = memchr::memmem::Finder::new(filter.value(part));
            return self.any(Some(slot), rule, false, |value| {
                let middle = between(value, initial, r#final);
                middle.is_some_and(|middle| finder.needle().len() <= middle.len() && finder.find(middle).is_some())
            });
        }
        self.any(Some(slot), rule, false, |value| {
            let middle = between(value, initial, r#final);
            middle.is_some_and(|middle| contains_in_order(middle, filter.part_values(any), source))
        })
    }

    fn approx(&mut self, slot: Slot, assertion: &[u8]) -> bool {
        let (mut found, scratch) = (false, &mut *self.memory.scratch);
        let (mut seen, source) = (0, self.source);
        source.values(slot, &mut |value| {
            if !afford_value(source, &mut seen, value) {
                return ControlFlow::Break(());
            }
            scratch.clear();
            matching::approx::codes(value, scratch);
            found = matching::approx::matches(scratch, assertion);
            stop_when(found)
        });
        found
    }

    /// Whether `holds_normalized` uses the normal forms of this rule.
    fn is_own_rule(&self, slot: Slot, rule: &'static MatchingRule) -> bool {
        rule.evaluate.is_none()
            && rule.expand.is_none()
            && self.filter.slot(slot).is_some_and(|description| {
                self.schema.attribute_type(description.attribute_type).equality == Some(rule)
            })
    }
}
