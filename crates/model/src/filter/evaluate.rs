//! Three-valued evaluation (RFC 4511 §4.5.1.7).

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;

use super::{
    compiled::{CompiledFilter, Guard, Node, Slot, Truth, ValueSource},
    item::rule_applies,
};
use crate::{
    AttributeDescription, Schema,
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

/// A connective under way: its node, one past its last descendant, and its truth so far.
struct Frame<'f> {
    node: &'f Node,
    end: usize,
    so_far: Truth,
}

impl Frame<'_> {
    /// Takes in the truth of an operand; `Some` when that decides.
    fn fold(&mut self, operand: Truth) -> Option<Truth> {
        let deciding = match self.node {
            Node::And { .. } => Truth::False,
            Node::Or { .. } => Truth::True,
            _ => return Some(!operand),
        };
        if operand == Truth::Undefined {
            self.so_far = Truth::Undefined;
        }
        (operand == deciding).then_some(deciding)
    }
}

impl CompiledFilter {
    /// Evaluates against one entry. `scratch` is working memory that is reused.
    ///
    /// Iterative: the depth of a filter costs no stack. Operands are evaluated in order, until one decides.
    pub fn evaluate(&self, schema: &Schema, source: &dyn ValueSource, scratch: &mut Vec<u8>) -> Truth {
        let mut open: SmallVec<[Frame<'_>; 16]> = SmallVec::new();
        let guard = source.guard();
        let mut at = 0;
        loop {
            let Some(node) = self.nodes.get(at) else {
                return Truth::Undefined;
            };
            let connective = match node {
                Node::And { end } => Some((*end, Truth::True)),
                Node::Or { end } => Some((*end, Truth::False)),
                Node::Not { end } => Some((*end, Truth::Undefined)),
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
            let mut truth = match guard {
                None => self.item(node, schema, source, scratch),
                Some(guard) => self.guarded_item(node, guard, (schema, source), scratch),
            };
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

    /// Whether one value satisfies this filter, for the matched values control (RFC 3876): the filter is an item or an `|` of
    /// items, and an item is true of a value when it is about the value's attribute and holds for the value.
    pub fn matches_value(
        &self,
        schema: &Schema,
        description: &AttributeDescription,
        value: &[u8],
        scratch: &mut Vec<u8>,
    ) -> bool {
        let source = OneValue {
            filter: self,
            schema,
            description,
            value,
        };
        self.evaluate(schema, &source, scratch) == Truth::True
    }

    /// An item, if it may be put.
    fn guarded_item(
        &self,
        node: &Node,
        guard: &dyn Guard,
        (schema, source): (&Schema, &dyn ValueSource),
        scratch: &mut Vec<u8>,
    ) -> Truth {
        match self.permission(node, guard) {
            Permission::Whole => self.item(node, schema, source, scratch),
            Permission::None => Truth::Undefined,
            Permission::ByValue(slot, rule, parts) => {
                self.equalities((slot, rule, parts), guard, (schema, source), scratch)
            }
        }
    }

    /// An item, of the values that may answer it.
    fn item(&self, node: &Node, schema: &Schema, source: &dyn ValueSource, scratch: &mut Vec<u8>) -> Truth {
        let mut values = Values {
            filter: self,
            schema,
            source,
            scratch,
        };
        match node {
            Node::Constant(truth) => return *truth,
            Node::InChain { slot, value } => return source.in_chain(*slot, self.value(value)),
            Node::Present(slot) => values.present(*slot),
            Node::Equality {
                slot,
                rule,
                value,
                dn_attributes,
            } => values.equality(*slot, rule, value, *dn_attributes),
            Node::AnyOf {
                slot,
                rule,
                values: parts,
            } => values.any_of(*slot, rule, parts),
            Node::Less {
                slot,
                rule,
                value,
                dn_attributes,
            } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, *dn_attributes, |value| value < assertion)
            }
            Node::GreaterOrEqual { slot, rule, value } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, false, |value| value >= assertion)
            }
            Node::LessOrEqual { slot, rule, value } => {
                let assertion = self.value(value);
                values.any(Some(*slot), rule, false, |value| value <= assertion)
            }
            Node::Approx { slot, value } => values.approx(*slot, self.value(value)),
            Node::Substrings {
                slot,
                rule,
                initial,
                any,
                r#final,
            } => {
                let end = |range: &Option<Range<u32>>| range.as_ref().map_or(&b""[..], |range| self.value(range));
                let (initial, r#final) = (end(initial), end(r#final));
                values.any(Some(*slot), rule, false, |value| {
                    let middle = value.strip_prefix(initial).and_then(|rest| rest.strip_suffix(r#final));
                    middle.is_some_and(|middle| contains_in_order(middle, self.part_values(any)))
                })
            }
            Node::AnyAttribute {
                rule,
                value,
                dn_attributes,
            } => {
                let assertion = self.value(value);
                values.any(None, rule, *dn_attributes, |value| {
                    rule.matches(schema, value, assertion)
                })
            }
            Node::And { .. } | Node::Or { .. } | Node::Not { .. } => false,
        }
        .into()
    }
}

/// Whether an item may be put.
enum Permission<'f> {
    Whole,
    None,
    /// It stands for several equalities, of which each has to be asked about.
    ByValue(Slot, &'static MatchingRule, &'f Range<u32>),
}

impl CompiledFilter {
    fn permission<'f>(&'f self, node: &'f Node, guard: &dyn Guard) -> Permission<'f> {
        let (slot, value) = match node {
            Node::Constant(_) | Node::AnyAttribute { .. } | Node::And { .. } | Node::Or { .. } | Node::Not { .. } => {
                return Permission::Whole;
            }
            Node::AnyOf { slot, rule, values } => {
                if self.slot(*slot).is_some_and(|asked| guard.asks_by_value(asked)) {
                    return Permission::ByValue(*slot, rule, values);
                }
                (*slot, None)
            }
            Node::Present(slot) | Node::Substrings { slot, .. } | Node::Approx { slot, .. } => (*slot, None),
            Node::Equality { slot, value, .. }
            | Node::Less { slot, value, .. }
            | Node::GreaterOrEqual { slot, value, .. }
            | Node::LessOrEqual { slot, value, .. }
            | Node::InChain { slot, value, .. } => (*slot, Some(self.value(value))),
        };
        match self.slot(slot) {
            Some(asked) if guard.may_ask(asked, value) => Permission::Whole,
            _ => Permission::None,
        }
    }

    /// The `|` of several equalities, of which some may not be put.
    fn equalities(
        &self,
        (slot, rule, parts): (Slot, &'static MatchingRule, &Range<u32>),
        guard: &dyn Guard,
        (schema, source): (&Schema, &dyn ValueSource),
        scratch: &mut Vec<u8>,
    ) -> Truth {
        let Some(asked) = self.slot(slot) else {
            return Truth::Undefined;
        };
        let mut truth = Truth::False;
        let parts = parts.start as usize..parts.end as usize;
        for part in self.parts.get(parts).unwrap_or_default() {
            if !guard.may_ask(asked, Some(self.value(part))) {
                truth = Truth::Undefined;
                continue;
            }
            let mut values = Values {
                filter: self,
                schema,
                source,
                scratch,
            };
            if values.equality(slot, rule, part, false) {
                return Truth::True;
            }
        }
        truth
    }
}

fn stop_when(found: bool) -> ControlFlow<()> {
    if found {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

fn contains_in_order<'p>(text: &[u8], parts: impl Iterator<Item = &'p [u8]>) -> bool {
    let mut rest = text;
    for part in parts {
        let Some(at) = memchr::memmem::find(rest, part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

/// The values that one item looks at.
struct Values<'e> {
    filter: &'e CompiledFilter,
    schema: &'e Schema,
    source: &'e dyn ValueSource,
    scratch: &'e mut Vec<u8>,
}

impl Values<'_> {
    fn present(&self, slot: Slot) -> bool {
        let mut found = false;
        self.source.values(slot, &mut |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }

    /// Whether `test` holds for the normal form of some value; `slot` is `None` for any attribute that the rule applies to.
    fn any(
        &mut self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        dn_attributes: bool,
        test: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let (mut found, schema, scratch) = (false, self.schema, &mut *self.scratch);
        let mut visit = |value: &[u8]| {
            scratch.clear();
            found |= (rule.normalize_value)(schema, value, scratch).is_ok() && test(scratch);
            stop_when(found)
        };
        match slot {
            Some(slot) => self.source.values(slot, &mut visit),
            None => self.source.values_for_rule(rule, &mut visit),
        }
        // Another value stops at once when one was found.
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
                Some(false) if !dn_attributes => return false,
                _ => {}
            }
        }
        let schema = self.schema;
        self.any(Some(slot), rule, dn_attributes, |value| {
            rule.matches(schema, value, assertion)
        })
    }

    fn any_of(&mut self, slot: Slot, rule: &'static MatchingRule, range: &Range<u32>) -> bool {
        let filter = self.filter;
        let mut parts = filter.part_values(range);
        let Some(first) = parts.next() else {
            return false;
        };
        match self.source.holds_normalized(slot, first) {
            Some(true) => return true,
            Some(false) => return parts.any(|part| self.source.holds_normalized(slot, part) == Some(true)),
            None => {}
        }
        let parts = filter
            .parts
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default();
        self.any(Some(slot), rule, false, |value| {
            parts.binary_search_by(|part| filter.value(part).cmp(value)).is_ok()
        })
    }

    fn approx(&mut self, slot: Slot, assertion: &[u8]) -> bool {
        let (mut found, scratch) = (false, &mut *self.scratch);
        self.source.values(slot, &mut |value| {
            scratch.clear();
            matching::approx::codes(value, scratch);
            found = matching::approx::matches(scratch, assertion);
            stop_when(found)
        });
        found
    }

    /// Whether `holds_normalized` speaks of this rule's normal forms.
    fn is_own_rule(&self, slot: Slot, rule: &'static MatchingRule) -> bool {
        rule.evaluate.is_none()
            && rule.expand.is_none()
            && self.filter.slot(slot).is_some_and(|description| {
                self.schema.attribute_type(description.attribute_type).equality == Some(rule)
            })
    }
}

/// One value as a source.
struct OneValue<'v> {
    filter: &'v CompiledFilter,
    schema: &'v Schema,
    description: &'v AttributeDescription,
    value: &'v [u8],
}

impl OneValue<'_> {
    fn is_of(&self, slot: Slot) -> bool {
        self.filter
            .slot(slot)
            .is_some_and(|general| self.schema.is_description_subtype(self.description, general))
    }
}

impl ValueSource for OneValue<'_> {
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        if self.is_of(slot) {
            let _ = visit(self.value);
        }
    }
    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let attribute = self.schema.attribute_type(self.description.attribute_type);
        if rule_applies(rule, attribute) {
            let _ = visit(self.value);
        }
    }
    fn dn_values(&self, _: Option<Slot>, _: &'static MatchingRule, _: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {}
    fn holds_normalized(&self, _: Slot, _: &[u8]) -> Option<bool> {
        None
    }
    /// One step: whether the value is the target. Further steps are other entries'.
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        crate::entry::reaches_directly(
            self.schema,
            self.description,
            target,
            self.is_of(slot).then_some(self.value),
        )
    }
}
