//! Evaluation of filters on records: where `CompiledFilter` gets its values from.

use std::{cell::Cell, ops::ControlFlow};

use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Schema, Truth,
    filter::{Slot, ValueSource, rule_applies},
    matching::MatchingRule,
};

use super::Record;
use crate::{Plan, StoreError, record::codec::FLAG_EXTERNAL};

/// A record as a source of values.
struct RecordSource<'r, 't> {
    record: &'r Record<'t>,
    filter: &'r CompiledFilter,
    plan: Option<&'r Plan>,
    /// A value could not be read: the entry must not match by that.
    failed: Cell<bool>,
}

/// See [`Record::evaluate`]. Damage makes an entry not match.
pub(super) fn evaluate(
    record: &Record<'_>,
    filter: &CompiledFilter,
    plan: Option<&Plan>,
    scratch: &mut Vec<u8>,
) -> Truth {
    let source = RecordSource {
        record,
        filter,
        plan,
        failed: Cell::new(false),
    };
    let truth = filter.evaluate(&record.view.catalog.schema, &source, scratch);
    if source.failed.get() { Truth::Undefined } else { truth }
}

impl RecordSource<'_, '_> {
    fn description(&self, slot: Slot) -> Option<&AttributeDescription> {
        self.filter.slots.get(usize::from(slot.0))
    }
    fn note(&self, result: &Result<(), StoreError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }
    /// Evaluation cannot return an error: the entry does not match. What is damaged shows when it is read.
    fn fail(&self, _: &StoreError) {
        self.failed.set(true);
    }
    /// Values of attributes that are made, not stored; `false`: not such an attribute.
    fn made_values(&self, asked: &AttributeDescription, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> bool {
        let view = self.record.view;
        let special = &view.catalog.special;
        let asked_type = Some(asked.attribute_type);
        if asked_type == special.has_subordinates {
            match view.has_subordinates(self.record.id) {
                Ok(true) => drop(visit(b"TRUE")),
                Ok(false) => drop(visit(b"FALSE")),
                Err(error) => self.fail(&error),
            }
        } else if asked_type == special.entry_dn {
            let mut dn = Vec::new();
            match view.pretty_dn(self.record.id, &mut dn) {
                Ok(()) => drop(visit(&dn)),
                Err(error) => self.fail(&error),
            }
        } else {
            return false;
        }
        true
    }
    fn visit_dn(
        &self,
        mut dn: Dn,
        wanted: &dyn Fn(&AttributeDescription) -> bool,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        while dn.depth() > 0 {
            for (description, value) in dn.leaf_assertions(&self.record.view.catalog.schema) {
                if wanted(&description) && visit(&value).is_break() {
                    return;
                }
            }
            let Some(parent) = dn.parent() else { return };
            dn = parent;
        }
    }
}

/// Whether a rule may be applied to values of an attribute.
fn applies(schema: &Schema, rule: &'static MatchingRule, description: &AttributeDescription) -> bool {
    rule_applies(rule, schema.attribute_type(description.attribute_type))
}

impl ValueSource for RecordSource<'_, '_> {
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let Some(asked) = self.description(slot) else { return };
        if self.made_values(asked, visit) {
            return;
        }
        for attribute in self.record.answering(asked) {
            let mut flow = ControlFlow::Continue(());
            self.note(&attribute.for_each(&mut |value| {
                flow = visit(value);
                flow
            }));
            if flow.is_break() {
                return;
            }
        }
    }
    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let schema = &self.record.view.catalog.schema;
        for attribute in self
            .record
            .attributes()
            .filter(|a| applies(schema, rule, a.description()))
        {
            let mut broken = false;
            self.note(&attribute.for_each(&mut |value| {
                let flow = visit(value);
                broken = flow.is_break();
                flow
            }));
            if broken {
                return;
            }
        }
    }
    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        let view = self.record.view;
        let dn = match view.dn(self.record.id) {
            Ok(dn) => dn,
            Err(error) => return self.fail(&error),
        };
        let schema = &view.catalog.schema;
        let asked = slot.and_then(|slot| self.description(slot));
        let wanted = |description: &AttributeDescription| match asked {
            Some(asked) => schema.is_subtype(description.attribute_type, asked.attribute_type),
            None => applies(schema, rule, description),
        };
        self.visit_dn(dn, &wanted, visit);
    }
    fn holds_normalized(&self, slot: Slot, normalized: &[u8]) -> Option<bool> {
        if self.record.header.flags & FLAG_EXTERNAL == 0 {
            return None;
        }
        let asked = self.description(slot)?;
        if !self.record.answering(asked).any(|attribute| attribute.is_external()) {
            return None;
        }
        for attribute in self.record.answering(asked) {
            match attribute.holds_normalized(normalized) {
                Ok(false) => {}
                Ok(true) => return Some(true),
                Err(error) => self.fail(&error),
            }
        }
        Some(false)
    }
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        if let Some(found) = self.plan.and_then(|plan| plan.chain(slot, target)) {
            return if found.contains(self.record.id) {
                Truth::True
            } else {
                Truth::False
            };
        }
        let Some(asked) = self.description(slot) else {
            return Truth::Undefined;
        };
        match self.record.view.chain_from(self.record, asked, target) {
            Ok(truth) => truth,
            Err(error) => {
                self.fail(&error);
                Truth::Undefined
            }
        }
    }
}
