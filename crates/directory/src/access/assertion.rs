//! The assertion control (RFC 4528): an operation goes on only if its target entry matches a filter.

use ironbark_config::access::Privileges;
use ironbark_model::{Budget, CompiledFilter, Entry, Filter, Truth, entry::EntrySource, filter::Guard};
use ironbark_store::{EntryGuards, Evaluation, Record, View};

use super::{requester::Requester, searchable::AnswerableEntries, write_check::WriteCheck};
use crate::{Configuration, OperationError, refusal::ControlRefusal};

/// Checks the filter on an entry in memory, with computed attributes. Only attributes that the subject of `check` may
/// search can answer; `check` belongs to that entry.
///
/// # Errors
/// `assertionFailed`.
pub(crate) fn check_assertion(
    configuration: &Configuration,
    check: &WriteCheck<'_>,
    entry: &Entry,
    filter: &Filter<'_>,
) -> Result<(), OperationError> {
    let compiled = compile(configuration, filter, check.budget());
    let guard = check.answerable(Privileges::SEARCH);
    let guard = guard.as_ref().map(|guard| guard as &dyn Guard);
    let schema = &*configuration.schema;
    let source = EntrySource::new(schema, &compiled, entry)
        .guarded(guard)
        .within(check.budget());
    verdict(compiled.evaluate(schema, &source, &mut Vec::new()))
}

/// As [`check_assertion`], on a stored entry, in place.
pub(crate) fn check_assertion_on_record(
    requester: Requester<'_>,
    record: &Record<'_>,
    view: View<'_>,
    filter: &Filter<'_>,
) -> Result<(), OperationError> {
    let budget = requester.subject.budget.or(view.budget());
    let (view, record) = match budget {
        Some(budget) => (view.under(budget), record.under(budget)),
        None => (view, *record),
    };
    let compiled = compile(requester.configuration, filter, budget);
    let check = WriteCheck::on_record(requester, &record, view);
    let guard = check.answerable(Privileges::SEARCH);
    let guards = AnswerableEntries::new(requester, None, Privileges::SEARCH);
    let with = Evaluation {
        plan: None,
        guard: guard.as_ref().map(|guard| guard as &dyn Guard),
        guards: guards.as_ref().map(|guards| guards as &dyn EntryGuards),
        ..Evaluation::default()
    };
    verdict(record.evaluate_with(with, &compiled, &mut Vec::new()))
}

/// Refuses an assertion on a missing entry: no assertion matches it.
///
/// # Errors
/// `assertionFailed`.
pub(crate) fn refuse_assertion(is_asserted: bool) -> Result<(), OperationError> {
    if is_asserted {
        return Err(ControlRefusal::AssertionFailed.into());
    }
    Ok(())
}

fn compile(configuration: &Configuration, filter: &Filter<'_>, budget: Option<&Budget>) -> CompiledFilter {
    let mut compiled = CompiledFilter::default();
    compiled.compile_within(&configuration.schema, filter, budget);
    compiled
}

fn verdict(truth: Truth) -> Result<(), OperationError> {
    match truth {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(ControlRefusal::AssertionFailed.into()),
    }
}
