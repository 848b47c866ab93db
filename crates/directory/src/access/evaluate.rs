//! Evaluation of access rules, as slapd.access(5) describes it: the first rule whose `what` holds decides, through its `by` clauses.
//!
//! Implicit endings: a rule whose clauses all pass by grants nothing; after the last rule nothing is granted; without any rule everybody
//! reads. The frontend's rules follow the database's own.

use std::{cell::OnceCell, ops::ControlFlow};

use ironbark_config::access::{AccessRule, AttributeTarget, By, Control, Privileges, What, Who};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema, Truth,
    entry::EntrySource,
    filter::{Slot, compiled::Node},
    schema::{ClassNumber, TypeNumber},
};
use ironbark_store::Location;
use smallvec::SmallVec;

use super::{Source, Subject, Target};
use crate::{Configuration, Context};

/// Access rules applied to one subject and one entry.
pub(crate) struct Check<'a> {
    configuration: &'a Configuration,
    own_rules: &'a [AccessRule],
    frontend_rules: &'a [AccessRule],
    subject: Subject<'a>,
    source: Source<'a>,
    /// The entry's name, made when a rule asks for it.
    dn: OnceCell<Dn>,
}

/// The rules of a naming context and those of the frontend, which follow.
fn rules<'a>(context: &'a Context, configuration: &'a Configuration) -> (&'a [AccessRule], &'a [AccessRule]) {
    let frontend_rules = &configuration.frontend.settings.access;
    let is_frontend = context.number == configuration.frontend.number;
    let own_rules = if is_frontend { &[][..] } else { &context.settings.access };
    (own_rules, frontend_rules)
}

/// Whether nobody wrote a rule.
pub(super) fn has_no_rules(context: &Context, configuration: &Configuration) -> bool {
    let (own_rules, frontend_rules) = rules(context, configuration);
    own_rules.is_empty() && frontend_rules.is_empty()
}

impl<'a> Check<'a> {
    /// Everything that applies to an entry of `context`. The caller has let the rootdn pass.
    pub(super) fn new(
        context: &'a Context,
        configuration: &'a Configuration,
        subject: Subject<'a>,
        source: Source<'a>,
    ) -> Self {
        let (own_rules, frontend_rules) = rules(context, configuration);
        Self {
            configuration,
            own_rules,
            frontend_rules,
            subject,
            source,
            dn: OnceCell::new(),
        }
    }

    /// `None` if the subject may read everything: the rootdn, or nobody wrote a rule.
    pub(super) fn for_reading(
        context: &'a Context,
        configuration: &'a Configuration,
        subject: Subject<'a>,
        source: Source<'a>,
    ) -> Option<Self> {
        let check = Self::new(context, configuration, subject, source);
        (!subject.is_root && !check.has_no_rules()).then_some(check)
    }

    fn has_no_rules(&self) -> bool {
        self.own_rules.is_empty() && self.frontend_rules.is_empty()
    }

    /// Whether all of `privileges` are granted.
    pub(super) fn permits(&self, target: Target<'_>, privileges: Privileges) -> bool {
        self.granted(target).contains(privileges)
    }

    fn granted(&self, target: Target<'_>) -> Privileges {
        self.decide(target).0
    }

    /// What is granted, and the rule that decides.
    pub(super) fn decide(&self, target: Target<'_>) -> (Privileges, Option<&'a AccessRule>) {
        if self.has_no_rules() {
            return (ironbark_config::access::AccessLevel::Read.privileges(), None);
        }
        let mut granted = Privileges::default();
        for rule in self.own_rules.iter().chain(self.frontend_rules) {
            if !self.is_about(&rule.what, target) {
                continue;
            }
            match self.apply(&rule.by, target, &mut granted) {
                Control::Break => {}
                Control::Stop | Control::Continue => return (granted, Some(rule)),
            }
        }
        (Privileges::default(), None)
    }

    /// Runs through the clauses of a rule that is about the target.
    fn apply(&self, clauses: &[By], target: Target<'_>, granted: &mut Privileges) -> Control {
        for clause in clauses {
            let self_only = clause.grant.self_only;
            if self_only && !self.is_own_name(target) {
                continue;
            }
            let is_meant = |who| self.is(who) || (self_only && is_about_attribute(who, target));
            if !clause.who.iter().all(is_meant) {
                continue;
            }
            *granted = clause.grant.kind.apply(*granted);
            if clause.control != Control::Continue {
                return clause.control;
            }
        }
        // The implicit `by * none stop`.
        *granted = Privileges::default();
        Control::Stop
    }

    fn is_about(&self, what: &What, target: Target<'_>) -> bool {
        (what.attributes.is_empty() || what.attributes.iter().any(|attribute| self.names(attribute, target)))
            && what
                .dn
                .as_ref()
                .is_none_or(|name| name.scope.holds(&name.dn, self.dn()))
            && what.filter.as_deref().is_none_or(|filter| self.matches(filter))
    }

    fn names(&self, attribute: &AttributeTarget, target: Target<'_>) -> bool {
        let schema = &*self.configuration.schema;
        match (attribute, target) {
            // A class does not allow the pseudo-attributes: what is not in it includes them.
            (AttributeTarget::Entry | AttributeTarget::NotClass(_), Target::Entry)
            | (AttributeTarget::Children | AttributeTarget::NotClass(_), Target::Children) => true,
            (AttributeTarget::Attribute(named), Target::Attribute(description, _)) => {
                schema.is_description_subtype(description, named)
            }
            (AttributeTarget::Class(class), Target::Attribute(description, _)) => {
                is_of_class(schema, *class, description.attribute_type)
            }
            (AttributeTarget::NotClass(class), Target::Attribute(description, _)) => {
                !is_of_class(schema, *class, description.attribute_type)
            }
            _ => false,
        }
    }

    fn dn(&self) -> &Dn {
        self.dn.get_or_init(|| match self.source {
            Source::Record(record, view) => view.dn(record.id).unwrap_or_default(),
            Source::Memory(entry) => entry.dn.clone(),
        })
    }

    /// Whether the entry matches a rule's `filter=`. The text was checked when the configuration was read.
    fn matches(&self, text: &str) -> bool {
        let schema = &*self.configuration.schema;
        let Ok(filter) = Filter::parse(text.as_bytes(), RULE_FILTER_DEPTH) else {
            return false;
        };
        let mut compiled = CompiledFilter::default();
        compiled.compile(schema, &filter);
        let mut scratch = Vec::new();
        let truth = match self.source {
            Source::Record(record, _) => record.evaluate(&compiled, &mut scratch),
            Source::Memory(entry) => {
                let source = EntrySource {
                    schema,
                    filter: &compiled,
                    entry,
                };
                compiled.evaluate(schema, &source, &mut scratch)
            }
        };
        truth == Truth::True
    }

    fn is(&self, who: &Who) -> bool {
        let anonymous = self.subject.dn.depth() == 0;
        match who {
            Who::Anyone => true,
            Who::Anonymous => anonymous,
            Who::Users => !anonymous,
            Who::SelfEntry => !anonymous && self.dn() == self.subject.dn,
            Who::Dn(name) => !anonymous && name.scope.holds(&name.dn, self.subject.dn),
            Who::DnAttribute(attribute) => !anonymous && self.is_named_in(attribute),
            Who::Group { class, attribute, dn } => !anonymous && self.is_member(*class, attribute, dn),
        }
    }

    /// Whether a value of an attribute of the entry is the subject's name.
    fn is_named_in(&self, attribute: &AttributeDescription) -> bool {
        match self.source {
            Source::Record(record, _) => record
                .values(attribute)
                .is_some_and(|values| holds_name(&values, self.subject.dn)),
            Source::Memory(entry) => entry.attributes.iter().any(|held| {
                held.description == *attribute
                    && held.values.iter().any(|value| {
                        Dn::parse(&self.configuration.schema, value).is_ok_and(|dn| dn == *self.subject.dn)
                    })
            }),
        }
    }

    /// Whether the group entry, of the class, names the subject in the attribute.
    fn is_member(&self, class: ClassNumber, attribute: &AttributeDescription, group: &Dn) -> bool {
        let lookup = || -> Option<bool> {
            let database = self.configuration.context_of(group)?.database()?;
            let snapshot = database.snapshot().ok()?;
            let view = snapshot.view();
            let Location::Entry(id) = view.locate(group).ok()? else {
                return None;
            };
            let record = view.record(id).ok()??;
            let is_of_class = record
                .values(&self.configuration.well_known.object_class)
                .is_some_and(|classes| holds_class(&self.configuration.schema, &classes, class));
            Some(
                is_of_class
                    && record
                        .values(attribute)
                        .is_some_and(|members| holds_name(&members, self.subject.dn)),
            )
        };
        lookup().unwrap_or_default()
    }

    /// `self` before a level: the value that is accessed must be the subject's own name.
    fn is_own_name(&self, target: Target<'_>) -> bool {
        let Target::Attribute(_, Some(value)) = target else {
            return false;
        };
        Dn::parse(&self.configuration.schema, value).is_ok_and(|dn| dn == *self.subject.dn)
    }
}

/// Nesting of `filter=` in rules.
const RULE_FILTER_DEPTH: usize = 100;

/// Whether `dnattr` names the attribute that is asked about: with `self`, a subject may add its own name there before it is listed.
fn is_about_attribute(who: &Who, target: Target<'_>) -> bool {
    matches!((who, target), (Who::DnAttribute(named), Target::Attribute(description, _)) if description == named)
}

fn is_of_class(schema: &Schema, class: ClassNumber, attribute_type: TypeNumber) -> bool {
    schema.superclasses(class).iter().any(|number| {
        schema
            .object_classes()
            .get(number.0 as usize)
            .is_some_and(|class| class.must.contains(&attribute_type) || class.may.contains(&attribute_type))
    })
}

fn holds_name(values: &ironbark_store::RecordAttribute<'_>, dn: &Dn) -> bool {
    values.holds_normalized(dn.normalized()).unwrap_or_default()
}

fn holds_class(schema: &Schema, values: &ironbark_store::RecordAttribute<'_>, wanted: ClassNumber) -> bool {
    let mut found = false;
    let read = values.for_each(&mut |value| {
        found = schema
            .find_object_class(value)
            .is_some_and(|class| schema.superclasses(class.number).contains(&wanted));
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    read.is_ok() && found
}

/// A copy of the filter in which every item on an attribute that the subject may not search is Undefined.
pub(super) fn hide_unsearchable(check: &Check<'_>, filter: &CompiledFilter) -> Option<CompiledFilter> {
    let permitted: SmallVec<[bool; 16]> = filter
        .slots
        .iter()
        .map(|description| check.permits(Target::Attribute(description, None), Privileges::SEARCH))
        .collect();
    // An item without an attribute could be about any of them.
    let has_any_attribute = filter
        .nodes
        .iter()
        .any(|node| matches!(node, Node::AnyAttribute { .. }));
    if permitted.iter().all(|permitted| *permitted) && !has_any_attribute {
        return None;
    }
    let hidden = |slot: &Slot| !permitted.get(usize::from(slot.0)).copied().unwrap_or_default();
    let mut visible = filter.clone();
    for node in &mut visible.nodes {
        let hide = match node {
            Node::And { .. } | Node::Or { .. } | Node::Not { .. } | Node::Constant(_) => false,
            Node::AnyAttribute { .. } => true,
            Node::Present(slot)
            | Node::Equality { slot, .. }
            | Node::AnyOf { slot, .. }
            | Node::Less { slot, .. }
            | Node::GreaterOrEqual { slot, .. }
            | Node::LessOrEqual { slot, .. }
            | Node::Approx { slot, .. }
            | Node::Substrings { slot, .. }
            | Node::InChain { slot, .. } => hidden(slot),
        };
        if hide {
            *node = Node::Constant(Truth::Undefined);
        }
    }
    Some(visible)
}
