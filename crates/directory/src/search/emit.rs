//! The end of a sorted search: orders the collected entries and sends them.

use ironbark_config::access::Privileges;
use ironbark_model::{Truth, filter::Guard};
use ironbark_store::{EntryGuards, EntryId, Evaluation, Record, View};

use super::{
    encode::{self, EncodeWith},
    page::Page,
    run::{SearchExtras, SearchRun, Walked},
    sort::Sorting,
    target::{Extent, is_covered},
    work::{Slice, Step},
};
use crate::{
    NamingContext, OperationError,
    access::{self, Answerable, AnswerableEntries, Check, Requester, Source, SubjectDecisions},
    overlay::derived::DerivedFor,
    refusal::SearchRefusal,
    request::responses::ResponseWait,
};

/// Sends the sorted entries after the walk has ended. Does nothing for an unsorted search.
pub(super) fn emit(run: &mut SearchRun, step: &mut Step<'_>) -> Walked {
    match emit_all(run, step) {
        Ok(walked) => walked,
        Err(error) => {
            run.verdict = Some(error.into());
            Walked::Finish
        }
    }
}

fn emit_all(run: &mut SearchRun, step: &mut Step<'_>) -> Result<Walked, OperationError> {
    if !arrange(run, &mut step.slice)? {
        return Ok(Walked::Exhausted);
    }
    loop {
        let (is_full, sent) = (run.size_is_reached(), run.sent);
        let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) else {
            break;
        };
        let Some((number, id)) = sorting.following() else {
            break;
        };
        if step.is_used_up() {
            return Ok(Walked::SliceEnd);
        }
        if is_full || sorting.is_cut_behind(sent) {
            if run.verdict.is_none() {
                run.stop_with(SearchRefusal::SizeLimit);
            }
            break;
        }
        sorting.next += 1;
        if !sorting.covers(number) {
            continue;
        }
        let configuration = run.configuration.clone();
        let Some(context) = configuration.contexts.iter().find(|context| context.number == number) else {
            continue;
        };
        let Some(snapshot) = step.scratch.take_snapshot(context)? else {
            continue;
        };
        let before = step.out.len();
        let view = snapshot.view().under(step.slice.budget);
        let is_sent = emit_deriving(run, context, view, id, step);
        step.scratch.keep_snapshot(snapshot);
        if step.is_exhausted() {
            step.out.truncate(before);
            if let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) {
                sorting.next -= 1;
            }
            return Ok(Walked::Exhausted);
        }
        step.slice.has_advanced = true;
        let Emitted::Sent(wait) = is_sent? else { continue };
        run.wait_for(wait, &mut step.slice);
        run.sent += 1;
        if run
            .extras
            .as_mut()
            .and_then(|extras| extras.paged.as_mut())
            .is_some_and(Page::count)
        {
            return Ok(Walked::Finish);
        }
    }
    Ok(Walked::Through)
}

/// Orders the collected entries, and finds the part to be sent. False: the steps have run out.
fn arrange(run: &mut SearchRun, slice: &mut Slice<'_>) -> Result<bool, OperationError> {
    let Some(SearchExtras {
        sort: Some(sorting),
        view,
        ..
    }) = run.extras.as_deref_mut()
    else {
        return Ok(true);
    };
    if !sorting.is_ordered() {
        if !sorting.order(slice.budget)? {
            return Ok(false);
        }
        slice.has_advanced = true;
    }
    if sorting.is_shown() {
        return Ok(true);
    }
    let shown = match view {
        None => Some(0..sorting.len()),
        // The list is not complete, so no part of it can be right.
        Some(_) if run.verdict.is_some() => Some(0..0),
        Some(view) => view.window(&run.configuration.schema, sorting, slice.budget)?,
    };
    if let Some(shown) = shown {
        sorting.show(shown);
    }
    Ok(sorting.is_shown())
}

/// Appends an entry with derived attributes, if the search may see some.
fn emit_deriving(
    run: &SearchRun,
    context: &NamingContext,
    view: View<'_>,
    id: EntryId,
    step: &mut Step<'_>,
) -> Result<Emitted, OperationError> {
    let facts = step.scratch.facts(&run.configuration, context, view)?;
    let facts = facts.as_deref();
    if !run.sees_derived(facts) {
        return emit_entry(run, context, view, id, step);
    }
    let derived = DerivedFor {
        configuration: &run.configuration,
        context,
        facts,
        asker: Requester::of(&run.configuration, context, &run.origin),
        manages_dsa_it: run.options.manage_dsa_it,
    };
    emit_entry(run, context, view.deriving(&derived), id, step)
}

/// Appends an entry, unless it was deleted or has become invisible since it was sorted. If the search goes on from an
/// earlier page, or under another configuration, its filter and scope are asked again: the right to search, or the way
/// through an alias, may be gone.
fn emit_entry(
    run: &SearchRun,
    context: &NamingContext,
    view: View<'_>,
    id: EntryId,
    step: &mut Step<'_>,
) -> Result<Emitted, OperationError> {
    let Step { scratch, out, .. } = step;
    let Some(record) = view.record(id)? else {
        return Ok(Emitted::Gone);
    };
    let requester = Requester::of(&run.configuration, context, &run.origin);
    let standing = scratch.standing(&run.configuration, context, &run.origin, view);
    let parts = scratch.parts(context);
    parts.names.write_dn(view, &record, parts.dn)?;
    let source = Source::Record(&record, view);
    let place = parts.names.place(view, &record)?;
    let check = access::check_remembered(requester, source, place, standing.as_ref());
    if let Some(covered) = run.covered()
        && !is_covered(covered, context.number, id, view)?
    {
        return Ok(Emitted::Gone);
    }
    if run.covered().is_some() && !answers(run, &record, check.as_ref(), requester, standing.as_deref(), parts.work) {
        return Ok(Emitted::Gone);
    }
    let Some(entry) = access::visible(check.as_ref(), source, parts.dn) else {
        return Ok(Emitted::Gone);
    };
    let with = EncodeWith {
        answers: parts.answers,
        work: parts.work,
        budget: view.budget(),
    };
    encode::entry(run, &entry, with, out)?;
    if view.is_exhausted() {
        return Ok(Emitted::Gone);
    }
    Ok(Emitted::Sent(run.told(&entry)?))
}

/// Whether the filter is still True for the attributes that the subject may search now.
fn answers(
    run: &SearchRun,
    record: &Record<'_>,
    check: Option<&Check<'_>>,
    requester: Requester<'_>,
    standing: Option<&SubjectDecisions>,
    work: &mut Vec<u8>,
) -> bool {
    let guard = check.map(|check| Answerable::new(check, Privileges::SEARCH));
    let guards = AnswerableEntries::new(requester, standing, Privileges::SEARCH);
    let with = Evaluation {
        guard: guard.as_ref().map(|guard| guard as &dyn Guard),
        guards: guards.as_ref().map(|guards| guards as &dyn EntryGuards),
        ..Evaluation::default()
    };
    record.evaluate_with(with, &run.filter, work) == Truth::True
}

impl SearchRun {
    /// What it covers now, if its sorted entries were collected under rules that may be others than those in force.
    fn covered(&self) -> Option<&[Extent]> {
        let sorting = self.extras.as_ref().and_then(|extras| extras.sort.as_ref());
        sorting.and_then(Sorting::covered)
    }
}

/// What has become of a sorted entry.
enum Emitted {
    /// It is not there any more.
    Gone,
    /// It is sent; there may be something to wait for before the next one.
    Sent(Option<ResponseWait>),
}
