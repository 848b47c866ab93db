//! One value as a source of values, for the matched values control (RFC 3876).

use std::ops::ControlFlow;

use super::{
    compiled::{CompiledFilter, Slot, Truth, ValueSource},
    item::rule_applies,
};
use crate::{AttributeDescription, Budget, Schema, matching::MatchingRule};

/// The value.
pub(super) struct OneValue<'v> {
    pub(super) filter: &'v CompiledFilter,
    pub(super) schema: &'v Schema,
    pub(super) description: &'v AttributeDescription,
    pub(super) value: &'v [u8],
    pub(super) budget: Option<&'v Budget>,
}

impl OneValue<'_> {
    fn is_of(&self, slot: Slot) -> bool {
        self.filter
            .slot(slot)
            .is_some_and(|general| self.schema.is_description_subtype(self.description, general))
    }
}

impl ValueSource for OneValue<'_> {
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
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
    /// One step: whether the value is the target. Further steps are in other entries.
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        crate::entry::reaches_directly(
            self.schema,
            self.description,
            target,
            self.is_of(slot).then_some(self.value),
        )
    }
}
