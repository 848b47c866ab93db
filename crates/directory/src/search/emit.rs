//! The end of a sorted search: what was collected is ordered and sent.

use ironbark_model::ResultCode;
use ironbark_store::{EntryId, View};

use super::{
    encode,
    page::Page,
    run::{SearchRun, Walked},
    work::Slice,
};
use crate::{
    NamingContext, OperationError,
    access::{self, Source, Subject},
    scratch::Scratch,
};

/// Sends sorted entries once the walk is through. Does nothing for unsorted searches.
pub(super) fn emit(run: &mut SearchRun, scratch: &mut Scratch, slice: &mut Slice<'_>, out: &mut Vec<u8>) -> Walked {
    match emit_all(run, scratch, slice, out) {
        Ok(walked) => walked,
        Err(error) => {
            run.verdict = Some(error);
            Walked::Finish
        }
    }
}

fn emit_all(
    run: &mut SearchRun,
    scratch: &mut Scratch,
    slice: &mut Slice<'_>,
    out: &mut Vec<u8>,
) -> Result<Walked, OperationError> {
    let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) else {
        return Ok(Walked::Through);
    };
    if !sorting.is_ordered() {
        if !sorting.order(slice.budget)? {
            return Ok(Walked::Exhausted);
        }
        slice.has_advanced = true;
    }
    loop {
        let is_cut = run.size_is_reached();
        let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) else {
            break;
        };
        let Some((number, id)) = sorting.following() else {
            break;
        };
        if slice.is_used_up(out) {
            return Ok(Walked::SliceEnd);
        }
        if is_cut {
            if run.verdict.is_none() {
                run.stop_with(ResultCode::SIZE_LIMIT_EXCEEDED, "");
            }
            break;
        }
        sorting.next += 1;
        let configuration = run.configuration.clone();
        let Some(context) = configuration.contexts.iter().find(|context| context.number == number) else {
            continue;
        };
        let Some(snapshot) = scratch.take_snapshot(context)? else {
            continue;
        };
        let before = out.len();
        let is_sent = emit_entry(run, context, snapshot.view().under(slice.budget), id, scratch, out);
        scratch.keep_snapshot(snapshot);
        if slice.budget.is_exhausted() {
            out.truncate(before);
            if let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) {
                sorting.next -= 1;
            }
            return Ok(Walked::Exhausted);
        }
        slice.has_advanced = true;
        if !is_sent? {
            continue;
        }
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

/// Appends an entry unless it has gone or become invisible since it was sorted.
fn emit_entry(
    run: &SearchRun,
    context: &NamingContext,
    view: View<'_>,
    id: EntryId,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<bool, OperationError> {
    let Some(record) = view.record(id)? else {
        return Ok(false);
    };
    let subject = Subject::of(&run.origin, context);
    let standing = scratch.standing(&run.configuration, context, &run.origin);
    let parts = scratch.parts(context);
    parts.names.write_dn(view, &record, parts.dn)?;
    let source = Source::Record(&record, view);
    let placed = (source, parts.names.place(view, &record)?);
    let check = access::check_remembered(&run.configuration, context, subject, placed, standing.as_ref());
    let Some(entry) = access::visible(check.as_ref(), source, parts.dn) else {
        return Ok(false);
    };
    encode::entry(run, &entry, (parts.answers, parts.work, view.budget()), out)?;
    Ok(true)
}
