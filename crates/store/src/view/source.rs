//! Evaluation of filters on records: the source of values for `CompiledFilter`.

use std::{cell::Cell, ops::ControlFlow};

use ironbark_model::{
    AttributeDescription, Budget, CompiledFilter, Dn, Schema, Truth,
    filter::{Answering, AnsweringValue, Guard, Slot, ValueSource, rule_applies},
    matching::MatchingRule,
};

use super::{Record, RecordAttribute};
use crate::{Derived, DerivedAttributes, Plan, Purpose, StoreError, Wanted, record::codec::FLAG_EXTERNAL};

/// Steps for an item of a big filter that also reads the entry's name, and for each RDN of the name.
const NAME_STEPS: u64 = 4;
const RDN_STEPS: u64 = 8;

/// Access control for answers that depend on several entries: which values of which entry may answer.
pub trait EntryGuards {
    /// Whether [`Guard::answering`] may be [`Answering::Each`] for some entry.
    fn tells_values_apart(&self) -> bool;
    /// Calls `look` with the guard of an entry that a chain (`LDAP_MATCHING_RULE_IN_CHAIN`) comes to. Does not call it
    /// if the chain may not pass through the entry at all.
    fn at(&self, record: &Record<'_>, look: &mut dyn FnMut(&dyn Guard));
}

/// The context of an evaluation, besides record and filter.
#[derive(Clone, Copy, Default)]
pub struct Evaluation<'e> {
    /// Chains that the plan has followed are not followed again. The plan was made with the same `guards`.
    pub plan: Option<&'e Plan>,
    /// Decides which values of this entry may answer; `None`: all of them.
    pub guard: Option<&'e dyn Guard>,
    /// The same for other entries.
    pub guards: Option<&'e dyn EntryGuards>,
    /// The name that the entry is about to get.
    pub name: Option<&'e Dn>,
}

/// A record as a source of values.
struct RecordSource<'r, 't> {
    record: &'r Record<'t>,
    filter: &'r CompiledFilter,
    with: Evaluation<'r>,
    /// A value could not be read: the entry must not match because of it.
    failed: Cell<bool>,
}

impl Record<'_> {
    /// Three-valued evaluation, in place. `filter` was compiled against [`View::schema`].
    pub fn evaluate(&self, filter: &CompiledFilter, scratch: &mut Vec<u8>) -> Truth {
        evaluate(self, filter, Evaluation::default(), scratch)
    }
    /// As [`Record::evaluate`], with the results of the plan: chains of `LDAP_MATCHING_RULE_IN_CHAIN` are not followed
    /// again.
    pub fn evaluate_planned(&self, plan: &Plan, filter: &CompiledFilter, scratch: &mut Vec<u8>) -> Truth {
        let with = Evaluation {
            plan: Some(plan),
            ..Evaluation::default()
        };
        evaluate(self, filter, with, scratch)
    }
    /// As [`Record::evaluate`], with a plan, and for a requester that may not see everything.
    pub fn evaluate_with(&self, with: Evaluation<'_>, filter: &CompiledFilter, scratch: &mut Vec<u8>) -> Truth {
        evaluate(self, filter, with, scratch)
    }
}

/// See [`Record::evaluate`]. A damaged entry does not match.
fn evaluate(record: &Record<'_>, filter: &CompiledFilter, with: Evaluation<'_>, scratch: &mut Vec<u8>) -> Truth {
    let source = RecordSource {
        record,
        filter,
        with,
        failed: Cell::new(false),
    };
    let truth = filter.evaluate(&record.view.catalog.schema, &source, scratch);
    if source.failed.get() { Truth::Undefined } else { truth }
}

impl<'t> RecordSource<'_, 't> {
    /// Which values of a stored attribute may answer.
    #[inline]
    fn answering(&self, stored: &AttributeDescription) -> Answering {
        self.with.guard.map_or(Answering::All, |guard| guard.answering(stored))
    }
    /// Calls `visit` with the values of an attribute that may answer; stops when `visit` breaks.
    #[inline]
    fn visit(
        &self,
        attribute: &RecordAttribute<'t>,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        let stored = attribute.description();
        let each = match self.with.guard.map(|guard| (guard, guard.answering(stored))) {
            None | Some((_, Answering::All)) => None,
            Some((guard, Answering::Each)) => Some(guard),
            Some((_, Answering::None)) => return flow,
        };
        let visited = match each {
            None => attribute.for_each(&mut |value| {
                flow = visit(value);
                flow
            }),
            Some(guard) => attribute.for_each(&mut |value| {
                if guard.may_answer(stored, AnsweringValue::Plain(value)) {
                    flow = visit(value);
                }
                flow
            }),
        };
        self.note(&visited);
        flow
    }
    fn description(&self, slot: Slot) -> Option<&AttributeDescription> {
        self.filter.slots.get(usize::from(slot.0))
    }
    fn note(&self, result: &Result<(), StoreError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }
    /// Evaluation cannot return an error, so the entry does not match. The damage shows when the entry is read.
    fn fail(&self, _: &StoreError) {
        self.failed.set(true);
    }
    /// The derived attributes for which `attributes` is true.
    fn derive(&self, derived: &dyn DerivedAttributes, attributes: &dyn Fn(&AttributeDescription) -> bool) -> Derived {
        let wanted = Wanted {
            purpose: Purpose::Match,
            new_name: self.with.name,
            attributes,
            operational: &|_| true,
        };
        let mut found = Derived::default();
        if let Err(error) = derived.derive(self.record, &wanted, &mut found) {
            self.fail(&error);
        }
        found
    }
    /// Calls `visit` with derived values that may answer; stops when `visit` breaks.
    fn visit_derived(&self, derived: &Derived, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        for attribute in derived.attributes() {
            let description = &attribute.description;
            let answering = self.answering(description);
            for value in &attribute.values {
                if self.may_answer(answering, description, AnsweringValue::Plain(value)) && visit(value).is_break() {
                    return;
                }
            }
        }
    }
    fn may_answer(&self, answering: Answering, description: &AttributeDescription, value: AnsweringValue<'_>) -> bool {
        match (answering, self.with.guard) {
            (Answering::None, _) => false,
            (Answering::Each, Some(guard)) => guard.may_answer(description, value),
            _ => true,
        }
    }
    /// Calls `visit` with the values of stored attributes, as far as derived ones leave them, and then with derived
    /// values.
    fn visit_both(
        &self,
        stored: impl Iterator<Item = RecordAttribute<'t>>,
        derived: &Derived,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        for attribute in stored {
            if derived.keeps_stored(attribute.description()) && self.visit(&attribute, visit).is_break() {
                return;
            }
        }
        self.visit_derived(derived, visit);
    }
    /// Whether one of the derived values has this normal form.
    fn derived_holds(&self, derived: &Derived, normalized: &[u8]) -> bool {
        let schema = &self.record.view.catalog.schema;
        let (mut holds, mut normal) = (false, Vec::new());
        for attribute in derived.attributes() {
            let description = &attribute.description;
            let Some(rule) = schema.attribute_type(description.attribute_type).equality else {
                continue;
            };
            let answering = self.answering(description);
            holds |= attribute.values.iter().any(|value| {
                normal.clear();
                (rule.normalize_value)(schema, value, &mut normal).is_ok()
                    && normal == normalized
                    && self.may_answer(answering, description, AnsweringValue::Plain(value))
            });
        }
        holds
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
    #[inline]
    fn guard(&self) -> Option<&dyn Guard> {
        self.with.guard
    }
    fn budget(&self) -> Option<&Budget> {
        self.record.view.budget
    }
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let Some(asked) = self.description(slot) else { return };
        if let Some(derived) = self.record.view.deriving_of(asked, Purpose::Match) {
            let schema = &self.record.view.catalog.schema;
            let derived = self.derive(derived, &|one| schema.is_description_subtype(one, asked));
            return self.visit_both(self.record.answering(asked), &derived, visit);
        }
        for attribute in self.record.answering(asked) {
            if self.visit(&attribute, visit).is_break() {
                return;
            }
        }
    }
    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let schema = &self.record.view.catalog.schema;
        let derived = match self.record.view.derived {
            Some(derived) => self.derive(derived, &|one| applies(schema, rule, one)),
            None => Derived::default(),
        };
        let stored = self.record.attributes();
        self.visit_both(
            stored.filter(|a| applies(schema, rule, a.description())),
            &derived,
            visit,
        );
    }
    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        let view = self.record.view;
        let asked = slot.and_then(|slot| self.description(slot));
        // Attributes of names have no options.
        if asked.is_some_and(|asked| !asked.options.is_empty()) {
            return;
        }
        let dn = match self
            .with
            .name
            .map_or_else(|| view.dn(self.record.id), |name| Ok(name.clone()))
        {
            Ok(dn) => dn,
            Err(error) => return self.fail(&error),
        };
        // Each item reads the name again.
        if self.filter.is_big() && !view.spend(NAME_STEPS + RDN_STEPS * dn.depth() as u64) {
            return;
        }
        let schema = &view.catalog.schema;
        let wanted = |description: &AttributeDescription| match asked {
            Some(asked) => schema.is_subtype(description.attribute_type, asked.attribute_type),
            None => applies(schema, rule, description),
        };
        self.visit_dn(dn, &wanted, visit);
    }
    fn holds_normalized(&self, slot: Slot, normalized: &[u8]) -> Option<bool> {
        if self.record.view.derived.is_none() && self.record.header.flags & FLAG_EXTERNAL == 0 {
            return None;
        }
        if let Some(asked) = self.description(slot)
            && let Some(derived) = self.record.view.deriving_of(asked, Purpose::Match)
        {
            match derived.holds(self.record, asked, normalized, Purpose::Match) {
                // The values of an attribute with options, or of a subtype, are judged one by one.
                Ok(Some(holds)) => {
                    let value = AnsweringValue::Normalized(normalized);
                    return Some(holds && self.may_answer(self.answering(asked), asked, value));
                }
                Ok(None) => {}
                Err(error) => self.fail(&error),
            }
        }
        if self.record.header.flags & FLAG_EXTERNAL == 0 {
            return None;
        }
        let asked = self.description(slot)?;
        if !self.record.answering(asked).any(|attribute| attribute.is_external()) {
            return None;
        }
        // A set is found by the rule of its own attribute, which may differ from that of the supertype.
        let rule = self
            .record
            .view
            .catalog
            .schema
            .attribute_type(asked.attribute_type)
            .equality?;
        let normalizes_so = |attribute: RecordAttribute<'_>| {
            let own = attribute.info.equality;
            own.is_some_and(|own| own.normalizes_as(rule))
        };
        if !self.record.answering(asked).all(normalizes_so) {
            return None;
        }
        let derived = self
            .record
            .view
            .deriving_of(asked, Purpose::Match)
            .map_or_else(Derived::default, |derived| {
                let schema = &self.record.view.catalog.schema;
                self.derive(derived, &|one| schema.is_description_subtype(one, asked))
            });
        for attribute in self.record.answering(asked) {
            let stored = attribute.description();
            if !derived.keeps_stored(stored) {
                continue;
            }
            let normal = AnsweringValue::Normalized(normalized);
            match attribute.holds_normalized(normalized) {
                Ok(true) if self.may_answer(self.answering(stored), stored, normal) => return Some(true),
                Ok(_) => {}
                Err(error) => self.fail(&error),
            }
        }
        Some(self.derived_holds(&derived, normalized))
    }
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        let Some(asked) = self.description(slot) else {
            return Truth::Undefined;
        };
        if let Some(found) = self
            .with
            .plan
            .and_then(|plan| plan.chain(self.record.view, asked, target))
        {
            return found.contains(self.record.id).into();
        }
        match self
            .record
            .view
            .chain_from(self.record, asked, target, self.with.guards, self.with.plan)
        {
            Ok(truth) => truth,
            Err(error) => {
                self.fail(&error);
                Truth::Undefined
            }
        }
    }
}
