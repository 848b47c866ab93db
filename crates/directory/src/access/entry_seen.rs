//! An entry in memory, as the filters of access rules see it.
//!
//! An entry that is about to be added holds no `entryDN` and no `subschemaSubentry`. Rules must not tell it from the
//! stored entry that it becomes.

use std::ops::ControlFlow;

use ironbark_model::{
    AttributeDescription, CompiledFilter, Entry, Truth,
    entry::EntrySource,
    filter::{Slot, ValueSource, rule_applies},
    matching::MatchingRule,
};

use crate::{Configuration, backend::tree_attributes::SeenByRules};

/// An entry in memory with the attributes that follow from the tree.
pub(super) struct EntrySeenByRules<'a> {
    configuration: &'a Configuration,
    filter: &'a CompiledFilter,
    entry: &'a Entry,
    held: EntrySource<'a>,
}

impl<'a> EntrySeenByRules<'a> {
    pub(super) fn new(configuration: &'a Configuration, filter: &'a CompiledFilter, entry: &'a Entry) -> Self {
        Self {
            configuration,
            filter,
            entry,
            held: EntrySource::new(&configuration.schema, filter, entry),
        }
    }

    /// The value of the filter.
    pub(super) fn evaluate(&self) -> Truth {
        self.filter.evaluate(&self.configuration.schema, self, &mut Vec::new())
    }

    fn tree(&self) -> SeenByRules<'a> {
        SeenByRules(&self.configuration.tree_attributes)
    }

    /// The attributes that follow from the tree and that pass the test.
    fn visit_tree(
        &self,
        test: impl Fn(&AttributeDescription) -> bool,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (description, value) in self.tree().of_memory(&self.entry.dn) {
            if test(description) {
                visit(value)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl ValueSource for EntrySeenByRules<'_> {
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        match self.filter.slot(slot) {
            Some(asked) if self.tree().overrides(asked.attribute_type) => {
                let schema = &self.configuration.schema;
                let _ = self.visit_tree(|one| schema.is_description_subtype(one, asked), visit);
            }
            _ => self.held.values(slot, visit),
        }
    }

    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let schema = &self.configuration.schema;
        let applies = |one: &AttributeDescription| rule_applies(rule, schema.attribute_type(one.attribute_type));
        if self.visit_tree(applies, visit).is_continue() {
            self.held.values_for_rule(rule, visit);
        }
    }

    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        self.held.dn_values(slot, rule, visit);
    }

    fn holds_normalized(&self, slot: Slot, normalized: &[u8]) -> Option<bool> {
        self.held.holds_normalized(slot, normalized)
    }

    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        self.held.in_chain(slot, target)
    }
}
