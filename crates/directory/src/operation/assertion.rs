//! The assertion control (RFC 4528): an operation goes on only if its target entry matches a filter.

use ironbark_model::{CompiledFilter, Entry, Filter, ResultCode, Truth, entry::EntrySource};
use ironbark_store::{Record, View};

use crate::{
    Configuration, Context, OperationError,
    access::{self, Source, Subject},
};

/// Checks the filter on an entry in memory, computed attributes included. What the subject may not search is Undefined.
///
/// # Errors
/// `assertionFailed`.
pub(crate) fn check_assertion(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    entry: &Entry,
    filter: &Filter<'_>,
) -> Result<(), OperationError> {
    let compiled = compile(configuration, filter);
    let check = access::check(configuration, context, subject, Source::Memory(entry));
    let visible = access::searchable_filter(check.as_ref(), &compiled);
    let filter = visible.as_ref().unwrap_or(&compiled);
    let schema = &*configuration.schema;
    let source = EntrySource { schema, filter, entry };
    verdict(filter.evaluate(schema, &source, &mut Vec::new()))
}

/// As [`check_assertion`], on a stored entry, in place.
pub(crate) fn check_assertion_on_record(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    (view, record): (View<'_>, &Record<'_>),
    filter: &Filter<'_>,
) -> Result<(), OperationError> {
    let compiled = compile(configuration, filter);
    let check = access::check(configuration, context, subject, Source::Record(record, view));
    let visible = access::searchable_filter(check.as_ref(), &compiled);
    verdict(record.evaluate(visible.as_ref().unwrap_or(&compiled), &mut Vec::new()))
}

fn compile(configuration: &Configuration, filter: &Filter<'_>) -> CompiledFilter {
    let mut compiled = CompiledFilter::default();
    compiled.compile(&configuration.schema, filter);
    compiled
}

fn verdict(truth: Truth) -> Result<(), OperationError> {
    match truth {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(OperationError::code(ResultCode::ASSERTION_FAILED)),
    }
}
