//! Compare (RFC 4511 §4.10).

use std::{ops::ControlFlow, rc::Rc, sync::Arc};

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::CompareRequest;
use ironbark_model::{
    AttributeDescription, Budget, Dn, Entry, Filter, Schema,
    attribute_description::DescriptionError,
    budget::cost_of,
    filter::{Answering, AnsweringValue, Guard},
    matching::MatchingRule,
};
use ironbark_store::{DerivedAttributes, Purpose, Record, RecordAttribute, View};

use super::{external::ExternalCall, overlay_comparison::OverlayComparison};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Answerable, Requester, Subject, Target, WriteCheck, disclosure::Disclosure},
    admission::check_restrictions,
    backend::{call::Call, external::ExternalDatabase, naming_context::Backend, referral},
    frontend::root_dse,
    outcome::completion::Begun,
    overlay::{derived::DerivedFor, overlays_of, password_checks::Computed},
    refusal::CompareRefusal,
    request::context::RequestContext,
    scratch::{DnCache, Scratch, dn_cache},
};

/// Steps that a comparison may take: about ten milliseconds. The reactor waits meanwhile.
pub(super) const COMPARE_STEPS: u64 = 100_000;

/// How a comparison was begun.
pub(crate) enum Compared {
    /// Whether the entry has the value.
    Here(bool),
    /// Another program says so later.
    Elsewhere(Begun),
}

/// Whether an entry has a value.
///
/// # Errors
/// The entry is unknown, or hidden from this client; `adminLimitExceeded`: the comparison takes too much work.
pub(crate) fn compare(
    scratch: &mut Scratch,
    call: &mut Call<'_, '_>,
    request: &CompareRequest<'_>,
) -> Result<Compared, OperationError> {
    let budget = Rc::clone(&scratch.budget);
    budget.renew(COMPARE_STEPS, None);
    let outcome = outcome(scratch, &budget, call, request);
    scratch.turn_left = scratch.turn_left.saturating_sub(COMPARE_STEPS - budget.left());
    if budget.is_exhausted() {
        return Err(CompareRefusal::TooMuchWork.into());
    }
    outcome
}

/// A request whose parts are resolved.
struct Comparison<'a> {
    configuration: &'a Configuration,
    origin: &'a RequestContext,
    budget: &'a Budget,
    dn: Dn,
    description: AttributeDescription,
    /// Normal form of `value`.
    assertion: Vec<u8>,
    value: &'a [u8],
    /// Of the assertion control.
    filter: Option<&'a Filter<'a>>,
}

fn outcome(
    scratch: &mut Scratch,
    budget: &Budget,
    call: &mut Call<'_, '_>,
    request: &CompareRequest<'_>,
) -> Result<Compared, OperationError> {
    let configuration = &**call.configuration;
    let (origin, controls) = (&mut *call.origin, &mut *call.controls);
    let schema = &*configuration.schema;
    let dn = Dn::parse(schema, request.entry).map_err(|_| CompareRefusal::InvalidDn)?;
    if !budget.spend(cost_of(request.value)) {
        return Ok(Compared::Here(false));
    }
    let (description, assertion) = assertion_of(schema, request)?;
    let entry = frontend_entry(configuration, origin, &dn);
    let context = match entry {
        Some(_) => &configuration.frontend,
        None => configuration
            .context_of(&dn)
            .ok_or_else(|| referral::default_referral(configuration, &dn, None))?,
    };
    check_restrictions(context, configuration, Operations::COMPARE, origin)?;
    controls.remove(origin.dropped_controls);
    let comparison = Comparison {
        configuration,
        origin,
        budget,
        dn,
        description,
        assertion,
        value: request.value,
        filter: controls.assertion.as_ref().map(|control| &control.value.0),
    };
    if let Some(entry) = entry {
        return comparison.with_alone(context, entry).map(Compared::Here);
    }
    let compared = match &context.backend {
        Backend::External(database) => {
            return comparison.elsewhere(scratch.directory(), context, &**database);
        }
        Backend::Frontend => Err(CompareRefusal::NoSuchEntry.into()),
        Backend::InMemory { tree, .. } => {
            let entries = tree.entries(configuration);
            let entry = entries
                .iter()
                .find(|entry| entry.dn == comparison.dn)
                .ok_or(CompareRefusal::NoSuchEntry)?;
            comparison.with_alone(context, entry)
        }
        Backend::Null { .. } => {
            crate::access::assertion::refuse_assertion(controls.assertion.is_some()).map(|()| false)
        }
        Backend::Stored { .. } => {
            let is_true = comparison.in_store(scratch, context, controls.manage_dsa_it.is_some())?;
            if overlays_of(context).compares(&comparison.description) {
                return comparison.by_overlay(scratch.directory(), call.configuration, context, is_true);
            }
            Ok(is_true)
        }
    };
    compared.map(Compared::Here)
}

impl Comparison<'_> {
    /// Compares with a stored entry, with its derived attributes.
    fn in_store(
        &self,
        scratch: &mut Scratch,
        context: &NamingContext,
        manages_dsa_it: bool,
    ) -> Result<bool, OperationError> {
        let Some(snapshot) = scratch.take_snapshot(context)? else {
            return Err(CompareRefusal::NoSuchEntry.into());
        };
        let view = snapshot.view().under(self.budget);
        let facts = scratch.facts(self.configuration, context, view)?;
        let names = scratch.parts(context).names;
        let is_derived = match &facts {
            None => self
                .configuration
                .tree_attributes
                .covers(&self.description, Purpose::Compare),
            Some(facts) => facts.cover(&self.description, Purpose::Compare),
        };
        if !is_derived && self.filter.is_none() {
            let compared = self.with_stored(context, view, names, manages_dsa_it);
            scratch.keep_snapshot(snapshot);
            return compared;
        }
        let derived = DerivedFor {
            configuration: self.configuration,
            context,
            facts: facts.as_deref(),
            asker: Requester::of(self.configuration, context, self.origin),
            manages_dsa_it,
        };
        let compared = self.with_stored(context, view.deriving(&derived), names, manages_dsa_it);
        scratch.keep_snapshot(snapshot);
        compared
    }

    /// Lets the writer ask an overlay, now that the access rules let the client compare.
    fn by_overlay(
        self,
        directory: &Arc<Directory>,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
        is_true: bool,
    ) -> Result<Compared, OperationError> {
        let comparison = OverlayComparison {
            dn: self.dn,
            name: configuration.schema.description_text(&self.description),
            description: self.description,
            value: self.value.to_vec(),
            is_true,
            client: self.origin.clone(),
            computed: Computed::default(),
        };
        let begun = comparison.submit(directory, configuration, context);
        begun.map(Compared::Elsewhere)
    }

    /// Asks what has the entries.
    fn elsewhere(
        self,
        directory: &Arc<Directory>,
        context: &NamingContext,
        database: &dyn ExternalDatabase,
    ) -> Result<Compared, OperationError> {
        let call = ExternalCall {
            configuration: self.configuration,
            context,
            origin: self.origin,
        };
        let name = self.configuration.schema.description_text(&self.description);
        let begun = call.compare(directory, database, &self.dn, name, self.assertion);
        begun.map(Compared::Elsewhere)
    }
}

fn frontend_entry<'a>(configuration: &'a Configuration, origin: &RequestContext, dn: &Dn) -> Option<&'a Entry> {
    root_dse::seen_by(configuration, origin)
        .iter()
        .chain(configuration.subschema.iter())
        .find(|entry| entry.dn == *dn)
}

/// What is compared with: the attribute, and the value in normal form.
///
/// # Errors
/// `undefinedAttributeType`, `inappropriateMatching`, `invalidAttributeSyntax`.
pub(super) fn assertion_of(
    schema: &Schema,
    request: &CompareRequest<'_>,
) -> Result<(AttributeDescription, Vec<u8>), OperationError> {
    let description = schema.attribute_description(request.attribute).map_err(undefined)?;
    let assertion = normalized_assertion(schema, &description, request.value)?;
    Ok((description, assertion))
}

/// Only what can be no description has a text, as in slapd.
fn undefined(reason: DescriptionError) -> CompareRefusal {
    match reason {
        DescriptionError::Empty | DescriptionError::Malformed => CompareRefusal::NoAttribute { reason },
        _ => CompareRefusal::UndefinedAttribute,
    }
}

/// The assertion value in normal form.
fn normalized_assertion(
    schema: &Schema,
    description: &AttributeDescription,
    value: &[u8],
) -> Result<Vec<u8>, CompareRefusal> {
    let rule = schema
        .attribute_type(description.attribute_type)
        .equality
        .ok_or(CompareRefusal::NoEqualityRule)?;
    let mut normalized = Vec::new();
    rule.assertion(schema, value, &mut normalized)
        .map_err(|_| CompareRefusal::InvalidValue)?;
    Ok(normalized)
}

impl Comparison<'_> {
    fn with_stored(
        &self,
        context: &NamingContext,
        view: View<'_>,
        names: &mut DnCache,
        manages_dsa: bool,
    ) -> Result<bool, OperationError> {
        let Self { configuration, dn, .. } = self;
        let disclosure = Disclosure {
            requester: Requester::of(configuration, context, self.origin),
            view,
        };
        let record = match names.find(view, dn)? {
            dn_cache::Found::Entry(record) => record,
            dn_cache::Found::Missing(ancestor) => return Err(disclosure.missing(dn, ancestor, None)),
        };
        if record.is_glue() && context.hides_glue() && !manages_dsa {
            let above = disclosure.above(record.id, dn.depth())?;
            return Err(disclosure.missing(dn, above, None));
        }
        let compared = if record.is_referral() && !manages_dsa {
            let urls = referral::urls_of(configuration, &record);
            Err(OperationError::referral(view.dn(record.id)?.pretty().to_owned(), urls))
        } else {
            self.with_record(context, view, &record)
        };
        match compared {
            Err(_) if !disclosure.discloses(&record) => Err(disclosure.hidden(dn, &record, None)),
            compared => compared,
        }
    }

    /// Compares with the stored entry in place. In a big set, one value is looked up.
    fn with_record(
        &self,
        context: &NamingContext,
        view: View<'_>,
        record: &Record<'_>,
    ) -> Result<bool, OperationError> {
        let schema = &*self.configuration.schema;
        let requester = Requester::of(self.configuration, context, self.origin);
        let check = WriteCheck::on_record(requester, record, view);
        self.require_compare(&check)?;
        if let Some(filter) = self.filter {
            crate::access::assertion::check_assertion_on_record(requester, record, view, filter)?;
        }
        let guard = check.answerable(Privileges::COMPARE);
        let mut found = Found::default();
        if self.is_known_to_hold(record, guard.as_ref())? {
            return Ok(true);
        }
        let derived = record.derived(&self.description, Purpose::Compare)?;
        for attribute in derived.attributes() {
            let description = &attribute.description;
            found.look_at(schema, guard.as_ref(), &self.assertion, description, &attribute.values);
            if attribute.values.is_empty() && !attribute.replaces {
                found.is_there |= Answers::of(guard.as_ref(), description).is_some_and(|answers| answers.whole);
            }
        }
        for attribute in record.answering(&self.description) {
            let description = attribute.description();
            if !derived.keeps_stored(description) {
                continue;
            }
            let Some(answers) = Answers::of(guard.as_ref(), description) else {
                continue;
            };
            let Some(rule) = schema.attribute_type(description.attribute_type).equality else {
                found.is_there |= answers.whole;
                continue;
            };
            if attribute.is_external() && rule.evaluate.is_none() {
                found.is_there |= answers.whole || is_some_answering(&attribute, &answers)?;
                found.holds |= attribute.holds_normalized(&self.assertion)?
                    && answers.may(AnsweringValue::Normalized(&self.assertion));
                continue;
            }
            attribute.for_each(&mut |value| found.look(schema, rule, &self.assertion, &answers, value))?;
        }
        Ok(found.conclude()?)
    }

    /// Whether what derives the attribute knows, without a look at all values, that the entry has this one, and it may
    /// answer.
    fn is_known_to_hold(&self, record: &Record<'_>, guard: Option<&Answerable<'_>>) -> Result<bool, OperationError> {
        let Some(derived) = record.view().deriving_of(&self.description, Purpose::Compare) else {
            return Ok(false);
        };
        let holds = derived.holds(record, &self.description, &self.assertion, Purpose::Compare)?;
        let value = AnsweringValue::Normalized(&self.assertion);
        Ok(holds == Some(true) && Answers::of(guard, &self.description).is_some_and(|answers| answers.may(value)))
    }

    /// Compares with an entry that stands alone: without `disclose` it is hidden from the subject.
    fn with_alone(&self, context: &NamingContext, entry: &Entry) -> Result<bool, OperationError> {
        self.with(context, entry).map_err(|error| {
            let requester = Requester::of(self.configuration, context, self.origin);
            let check = WriteCheck::on_entry(requester, entry);
            if check.permits(Target::Entry, Privileges::DISCLOSE) {
                error
            } else {
                CompareRefusal::NoSuchEntry.into()
            }
        })
    }

    fn with(&self, context: &NamingContext, entry: &Entry) -> Result<bool, OperationError> {
        let schema = &*self.configuration.schema;
        let requester = Requester {
            subject: Subject::of(self.origin, context).within(self.budget),
            ..Requester::of(self.configuration, context, self.origin)
        };
        let check = WriteCheck::on_entry(requester, entry);
        self.require_compare(&check)?;
        if let Some(filter) = self.filter {
            crate::access::assertion::check_assertion(self.configuration, &check, entry, filter)?;
        }
        let guard = check.answerable(Privileges::COMPARE);
        let mut found = Found::default();
        for attribute in entry.matching_attributes(schema, &self.description) {
            found.look_at(
                schema,
                guard.as_ref(),
                &self.assertion,
                &attribute.description,
                &attribute.values,
            );
        }
        Ok(found.conclude()?)
    }

    fn require_compare(&self, check: &WriteCheck<'_>) -> Result<(), CompareRefusal> {
        let target = Target::Attribute(&self.description, Some(self.value));
        if check.permits(target, Privileges::COMPARE) {
            return Ok(());
        }
        Err(CompareRefusal::NoAccess)
    }
}

/// The results among the values that may answer a comparison.
#[derive(Default)]
struct Found {
    is_there: bool,
    holds: bool,
    normalized: Vec<u8>,
}

impl Found {
    /// Looks at all values of one attribute.
    fn look_at(
        &mut self,
        schema: &Schema,
        guard: Option<&Answerable<'_>>,
        assertion: &[u8],
        description: &AttributeDescription,
        values: &[Vec<u8>],
    ) {
        let Some(answers) = Answers::of(guard, description) else {
            return;
        };
        let Some(rule) = schema.attribute_type(description.attribute_type).equality else {
            self.is_there |= answers.whole;
            return;
        };
        let _ = values
            .iter()
            .try_for_each(|value| self.look(schema, rule, assertion, &answers, value));
    }

    fn look(
        &mut self,
        schema: &Schema,
        rule: &'static MatchingRule,
        assertion: &[u8],
        answers: &Answers<'_>,
        value: &[u8],
    ) -> ControlFlow<()> {
        if !answers.may(AnsweringValue::Plain(value)) {
            return ControlFlow::Continue(());
        }
        self.is_there = true;
        self.normalized.clear();
        self.holds |= (rule.normalize_value)(schema, value, &mut self.normalized).is_ok()
            && rule.matches(schema, &self.normalized, assertion);
        if self.holds {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn conclude(&self) -> Result<bool, CompareRefusal> {
        if self.holds || self.is_there {
            Ok(self.holds)
        } else {
            Err(CompareRefusal::NoSuchAttribute)
        }
    }
}

/// Whether any value may answer.
fn is_some_answering(attribute: &RecordAttribute<'_>, answers: &Answers<'_>) -> Result<bool, OperationError> {
    let mut is_some = false;
    attribute.for_each(&mut |value| {
        is_some = answers.may(AnsweringValue::Plain(value));
        if is_some {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(is_some)
}

/// Which values of one stored attribute may answer.
struct Answers<'a> {
    guard: Option<&'a Answerable<'a>>,
    stored: &'a AttributeDescription,
    /// All of them.
    whole: bool,
}

impl<'a> Answers<'a> {
    /// `None`: none.
    fn of(guard: Option<&'a Answerable<'a>>, stored: &'a AttributeDescription) -> Option<Self> {
        let answering = guard.map_or(Answering::All, |guard| guard.answering(stored));
        (answering != Answering::None).then_some(Self {
            guard,
            stored,
            whole: answering == Answering::All,
        })
    }

    fn may(&self, value: AnsweringValue<'_>) -> bool {
        self.whole || self.guard.is_none_or(|guard| guard.may_answer(self.stored, value))
    }
}
