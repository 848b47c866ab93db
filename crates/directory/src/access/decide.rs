//! Decisions of the rules: which rule applies to a target, which of its clauses matches, and which privileges that
//! grants.

use ironbark_config::{
    Operations,
    access::{
        AccessLevel, AttributeTarget, ClauseControl, DnPattern, NameMatch, NameScope, Privileges, SelfOnly, Submatches,
        ValuePattern,
    },
};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Schema, Truth,
    schema::{ClassNumber, TypeNumber},
};
use ironbark_store::Evaluation;

use super::{
    check::{Check, Decision, OnAll, Reach},
    decisions::{Known, SubjectDecisions},
    entry_seen::EntrySeenByRules,
    matched::Matched,
    target::{Source, Target, Value},
    who,
};
use crate::{
    backend::tree_attributes::SeenByRules,
    rules::access::{Clause, CompiledValue, Condition, Dependence, Question, QuestionNumber, Rule},
};

impl<'a> Check<'a> {
    /// From here on decisions are remembered for entries of the same kind.
    pub(super) fn remembered(mut self, standing: &'a SubjectDecisions) -> Self {
        self.dn.home = Some(standing.spare_name());
        self.standing = Some(standing);
        if self.rules.questions.len() <= MAX_QUESTIONS {
            for number in 0..self.rules.questions.len() {
                self.answer(number);
            }
            self.kind = Some(standing.kind(self.answered.get().1));
        }
        self
    }

    /// Whether all of `privileges` are granted.
    pub(crate) fn permits(&self, target: Target<'_>, privileges: Privileges) -> bool {
        self.granted(target).contains(privileges)
    }

    pub(super) fn granted(&self, target: Target<'_>) -> Privileges {
        let Some(kind) = &self.kind else {
            return self.decide(target).privileges;
        };
        let Some(place) = kind.place(target) else {
            return self.decide(target).privileges;
        };
        match kind.known(place) {
            Known::All(privileges) => return privileges,
            Known::Entry | Known::Value => return self.decide(target).privileges,
            Known::Nothing => {}
        }
        let decision = self.decide(target);
        if !self.cannot_tell() {
            kind.remember(place, decision.known());
        }
        decision.privileges
    }

    /// The privileges that apply to every value of an attribute. They are decided, and remembered, if necessary.
    pub(super) fn on_all(&self, attribute: &AttributeDescription) -> OnAll {
        let target = Target::Attribute(attribute, None);
        let place = self.kind.as_ref().and_then(|kind| Some((kind, kind.place(target)?)));
        match place.map_or(Known::Nothing, |(kind, place)| kind.known(place)) {
            Known::All(privileges) => return OnAll::Alike(privileges),
            Known::Value => return OnAll::ByValue,
            Known::Entry | Known::Nothing => {}
        }
        let decision = self.decide(target);
        if let Some((kind, place)) = place
            && !self.cannot_tell()
        {
            kind.remember(place, decision.known());
        }
        match decision.reach {
            Reach::EntryDecisions => OnAll::Alike(decision.privileges),
            Reach::Entry => OnAll::Here(decision.privileges),
            Reach::Value => OnAll::ByValue,
        }
    }

    /// The decision and its reason.
    pub(crate) fn decide(&self, target: Target<'_>) -> Decision {
        let mut decision = Decision::default();
        if let Some(budget) = self.budget() {
            // Each of the rules looks at the value.
            budget.spend(self.rules.all.len() as u64 / RULES_PER_STEP + target.value().cost());
        }
        if let Some(attribute) = target.attribute()
            && self.rules.keeps(&self.configuration.schema, attribute)
        {
            decision.reach = Reach::Entry;
            if self.is_self(self.subject.dn, 0) {
                decision.privileges = AccessLevel::Read.privileges();
            }
            return decision;
        }
        if self.rules.all.is_empty() {
            decision.privileges = AccessLevel::Read.privileges();
            return decision;
        }
        for (place, rule) in self.rules.all.iter().enumerate() {
            let Some(matched) = self.is_about(rule, target, &mut decision.reach) else {
                continue;
            };
            match self.apply(place, rule, &matched, target, &mut decision) {
                ClauseControl::Break => {}
                ClauseControl::Stop | ClauseControl::Continue => return self.unless_failed(decision),
            }
        }
        self.unless_failed(Decision {
            privileges: Privileges::default(),
            left: decision.privileges,
            by: None,
            reach: decision.reach,
        })
    }

    /// Grants nothing if a rule could not be evaluated or the steps have run out. The decision is then not remembered.
    fn unless_failed(&self, decision: Decision) -> Decision {
        if !self.cannot_tell() {
            return decision;
        }
        Decision {
            reach: decision.reach.max(Reach::Entry),
            ..Decision::default()
        }
    }

    /// Whether privileges are granted, or had been granted when the last rule said `break`. slapd asks this before it
    /// reveals that a base object exists.
    pub(super) fn permits_or_left(&self, target: Target<'_>, privileges: Privileges) -> bool {
        let decision = self.decide(target);
        decision.privileges.with(decision.left).contains(privileges)
    }

    /// Goes through the clauses of a rule that applies to the target.
    fn apply(
        &self,
        place: usize,
        rule: &Rule,
        matched: &Matched,
        target: Target<'_>,
        decision: &mut Decision,
    ) -> ClauseControl {
        let value = target.value();
        for (number, clause) in rule.by.iter().enumerate() {
            if !self.is_meant(clause, matched, value, &mut decision.reach) {
                continue;
            }
            decision.privileges = clause.grant.kind.apply(decision.privileges);
            decision.by = Some((place, number + 1));
            if clause.control != ClauseControl::Continue {
                return clause.control;
            }
        }
        // The implicit `by * none stop`.
        decision.privileges = Privileges::default();
        decision.by = Some((place, 0));
        ClauseControl::Stop
    }

    fn is_meant(&self, clause: &Clause, matched: &Matched, value: Value<'_>, reach: &mut Reach) -> bool {
        let own = match clause.grant.self_only {
            SelfOnly::No => None,
            SelfOnly::Own => Some(self.subject.dn),
            SelfOnly::Real => Some(self.subject.real_dn),
        };
        if let Some(own) = own {
            *reach = Reach::Value;
            if !self.is_name(value, own) {
                return false;
            }
        }
        clause.who.iter().all(|condition| {
            // A value that is the requester's own name need not be in the list yet.
            (own.is_some() && who::is_dn_attribute_of(condition, clause.grant.self_only))
                || self.holds(condition, matched, value, reach)
        })
    }

    fn holds(&self, condition: &Condition, matched: &Matched, value: Value<'_>, reach: &mut Reach) -> bool {
        match condition.dependence {
            Dependence::Nothing => {}
            Dependence::Question(number) if number < MAX_QUESTIONS => return self.answer(number),
            Dependence::Question(_) | Dependence::Entry => *reach = Reach::Entry.max(*reach),
            Dependence::Value => *reach = Reach::Value,
        }
        self.is(condition, matched, value)
    }

    /// The answer to a question. Each question is answered once.
    fn answer(&self, number: QuestionNumber) -> bool {
        let (known, yes) = self.answered.get();
        let bit = 1_u64
            .checked_shl(u32::try_from(number).unwrap_or(u32::MAX))
            .unwrap_or_default();
        if known & bit != 0 {
            return yes & bit != 0;
        }
        let rule = |at: usize| self.rules.all.get(at);
        let answer = match self.rules.questions.get(number) {
            None => false,
            Some(Question::Name(at)) => {
                rule(*at)
                    .and_then(|rule| rule.dn.as_ref())
                    .is_none_or(|(pattern, _)| match pattern {
                        DnPattern::Name(name) => self.is_named(name),
                        DnPattern::Regex(regex) => self.is_name_match(regex),
                    })
            }
            Some(Question::Filter(at)) => rule(*at)
                .and_then(|rule| rule.filter.as_ref())
                .is_none_or(|(filter, _)| self.matches(filter)),
            Some(Question::Who(at, clause, place)) => {
                let condition = rule(*at).and_then(|rule| rule.by.get(*clause)?.who.get(*place));
                condition.is_some_and(|condition| self.is(condition, &Matched::NOTHING, Value::None))
            }
        };
        self.answered.set((known | bit, if answer { yes | bit } else { yes }));
        answer
    }

    /// Whether a rule applies to the operation and its controls.
    pub(super) fn is_about_request(&self, rule: &Rule) -> bool {
        let request = self.subject.request;
        if let Some((operations, oid)) = &rule.operation
            && (!operations.contains(request.operation)
                || request.operation == Operations::default()
                || oid.as_deref().is_some_and(|oid| request.extended != Some(oid)))
        {
            return false;
        }
        rule.control.is_none_or(|control| request.controls.contains(control))
    }

    /// Whether a rule applies to the target. Also gives the submatches.
    fn is_about(&self, rule: &Rule, target: Target<'_>, reach: &mut Reach) -> Option<Matched> {
        if !self.is_about_request(rule) {
            return None;
        }
        if !rule.attributes.is_empty() && !rule.attributes.iter().any(|attribute| self.names(attribute, target)) {
            return None;
        }
        let ask = |number: QuestionNumber| self.answer(number);
        if rule.dn.as_ref().is_some_and(|(_, number)| !ask(*number)) {
            return None;
        }
        let mut matched = Matched::NOTHING;
        if let Some(pattern) = &rule.value {
            *reach = Reach::Value;
            matched = self.matched_value(pattern, target.value())?;
        }
        if rule.filter.as_ref().is_some_and(|(_, number)| !ask(*number)) {
            return None;
        }
        if rule
            .by
            .iter()
            .any(|clause| clause.who.iter().any(|who| who.dependence == Dependence::Value))
        {
            self.match_name(rule, &mut matched);
        }
        Some(matched)
    }

    /// The submatches of a name pattern, for clauses that insert them.
    fn match_name(&self, rule: &Rule, matched: &mut Matched) {
        let length = self.dn().normalized().len();
        let is_value_regex = matched.value_text.is_some() && !matched.value.is_empty();
        matched.name_limit = Submatches::MAX;
        match &rule.dn {
            Some((DnPattern::Regex(regex), _)) => {
                matched.name = regex.find(self.dn().normalized()).unwrap_or_default();
            }
            _ if is_value_regex => {}
            None
            | Some((
                DnPattern::Name(NameMatch {
                    scope: NameScope::Base, ..
                }),
                _,
            )) => {
                matched.name = vec![Some((0, length))];
                matched.name_limit = 1;
            }
            Some((DnPattern::Name(name), _)) => {
                let start = length.saturating_sub(name.dn.normalized().len());
                matched.name = vec![Some((0, length)), Some((start, length))];
                matched.name_limit = 2;
            }
        }
    }

    /// Whether a value matches one of a pattern's values, and where.
    fn matched_value(&self, pattern: &CompiledValue, value: Value<'_>) -> Option<Matched> {
        let schema = &*self.configuration.schema;
        let text = value.text(schema)?;
        let own = value
            .description()
            .and_then(|description| schema.attribute_type(description.attribute_type).equality);
        let mut matched = Matched::NOTHING;
        match pattern {
            CompiledValue::Exact { rule, normalized } => {
                // As in slapd, a matching rule other than the attribute's own compares the normal forms as they are.
                let own = own.filter(|_| rule.is_none());
                let value = value.normalized(schema)?;
                let is_equal = own.map_or(value == *normalized, |own| own.matches(schema, &value, normalized));
                is_equal.then_some(())?;
            }
            CompiledValue::Pattern(ValuePattern::Regex(regex)) => matched.value = regex.find(&text)?,
            CompiledValue::Pattern(ValuePattern::Name(name)) => {
                let held = Dn::parse(schema, &text).ok()?;
                name.scope.holds(&name.dn, &held).then_some(())?;
            }
            CompiledValue::Pattern(ValuePattern::Exact { .. }) => return None,
        }
        matched.value_text = Some(text);
        Some(matched)
    }

    pub(super) fn names(&self, attribute: &AttributeTarget, target: Target<'_>) -> bool {
        let schema = &*self.configuration.schema;
        match (attribute, target) {
            (AttributeTarget::Entry, Target::Entry) | (AttributeTarget::Children, Target::Children) => true,
            (AttributeTarget::Class(class), Target::Entry | Target::Children) => allows_everything(schema, *class),
            // No other class allows the pseudo-attributes, so they are among the attributes outside a class.
            (AttributeTarget::NotClass(class), Target::Entry | Target::Children) => !allows_everything(schema, *class),
            (AttributeTarget::Class(class), Target::Attribute(description, _) | Target::Asserted(description, _)) => {
                is_of_class(schema, *class, description.attribute_type)
            }
            (
                AttributeTarget::NotClass(class),
                Target::Attribute(description, _) | Target::Asserted(description, _),
            ) => !is_of_class(schema, *class, description.attribute_type),
            (
                AttributeTarget::Attribute(named),
                Target::Attribute(description, _) | Target::Asserted(description, _),
            ) => schema.is_description_subtype(description, named),
            _ => false,
        }
    }

    /// Whether the entry matches a rule's `filter=`.
    fn matches(&self, filter: &CompiledFilter) -> bool {
        let configuration = self.configuration;
        let truth = match self.source {
            Source::Record(record, _) => {
                let tree = SeenByRules(&configuration.tree_attributes);
                let with = Evaluation {
                    name: self.is_renamed.then(|| self.dn()),
                    ..Evaluation::default()
                };
                record.deriving(&tree).evaluate_with(with, filter, &mut Vec::new())
            }
            Source::Memory(entry) => EntrySeenByRules::new(configuration, filter, entry).evaluate(),
        };
        truth == Truth::True
    }

    /// Whether a value is somebody's name.
    fn is_name(&self, value: Value<'_>, own: &Dn) -> bool {
        let schema = &*self.configuration.schema;
        let Some(description) = value.description().filter(|_| !own.is_root()) else {
            return false;
        };
        who::holds_names(schema, description)
            && value
                .normalized(schema)
                .is_some_and(|text| Dn::parse(schema, &text).is_ok_and(|name| name == *own))
    }
}

impl Decision {
    /// The part of the decision that is worth remembering.
    fn known(&self) -> Known {
        match self.reach {
            Reach::EntryDecisions => Known::All(self.privileges),
            Reach::Entry => Known::Entry,
            Reach::Value => Known::Value,
        }
    }
}

/// Rules that are checked in about one step.
const RULES_PER_STEP: u64 = 4;
/// Questions whose answers are remembered.
const MAX_QUESTIONS: usize = 64;
/// Its entries may have any attribute (RFC 4512 §4.3).
const EXTENSIBLE_OBJECT: &str = "1.3.6.1.4.1.1466.101.120.111";

/// Whether `@class` is about everything: as in slapd, only for extensibleObject itself and not for its subclasses.
fn allows_everything(schema: &Schema, class: ClassNumber) -> bool {
    &*schema.object_class(class).oid == EXTENSIBLE_OBJECT
}

/// Whether a class or a superclass allows an attribute or one of its supertypes.
fn is_of_class(schema: &Schema, class: ClassNumber, attribute_type: TypeNumber) -> bool {
    let allowed = schema.allowed_types(class);
    let mut types = schema.supertypes(attribute_type).iter();
    allows_everything(schema, class) || types.any(|one| allowed.binary_search(one).is_ok())
}
