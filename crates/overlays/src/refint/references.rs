//! Finds the references to a name: through equality indexes, or by reading all entries.

use std::ops::ControlFlow;

use ironbark_directory::{
    OperationError,
    overlay::{Execution, WholePass},
};
use ironbark_model::{CompiledFilter, Dn, Filter, filter::Assertion};
use ironbark_store::{DitScope, EntryId, Location, Record, RecordAttribute, StoreError, View};

use super::{Change, Refint};

/// The names of a renamed subtree are looked up one by one if it has at most this part of all entries. For a larger
/// subtree, reading all entries is cheaper.
const LOOKED_UP_PART: u64 = 8;
/// Subtrees of this size are always looked up.
const FEW: u64 = 1_000;

/// Entries that may hold a name, through indexes; `None` without them.
pub(super) fn to_name(overlay: &Refint, view: View<'_>, dn: &Dn) -> Result<Option<Vec<EntryId>>, StoreError> {
    let plan = view.plan(0, DitScope::Subtree, &naming(overlay, view, dn))?;
    if !plan.indexed {
        return Ok(None);
    }
    let mut candidates = view.candidates(&plan, 0)?;
    let mut ids = Vec::new();
    while let Some(id) = candidates.next_id()? {
        ids.push(id);
    }
    Ok(Some(ids))
}

/// Entries that hold a name.
fn naming(overlay: &Refint, view: View<'_>, dn: &Dn) -> CompiledFilter {
    let names: Vec<String> = overlay
        .attributes
        .iter()
        .map(|attribute| overlay.schema.description_text(attribute))
        .collect();
    let items = names.iter().map(|name| {
        Filter::Equality(Assertion {
            attribute: name.as_bytes().into(),
            value: dn.pretty().as_bytes().into(),
        })
    });
    let mut compiled = CompiledFilter::default();
    compiled.compile(view.schema(), &Filter::Or(items.collect()));
    compiled
}

/// The same for an entry that is now called `new`, and for all entries below it, by their former names below `old`.
/// `None` also if there are too many names.
pub(super) fn to_subtree(
    overlay: &Refint,
    view: View<'_>,
    top: EntryId,
    old: &Dn,
    new: &Dn,
) -> Result<Option<Vec<EntryId>>, StoreError> {
    let most = (view.entry_count()? / LOOKED_UP_PART).max(FEW);
    let mut found = Vec::new();
    let mut open = vec![top];
    let mut seen = 0;
    while let Some(id) = open.pop() {
        seen += 1;
        if seen > most {
            return Ok(None);
        }
        let Some(name) = view.dn(id)?.rebase(new, old) else {
            continue;
        };
        let Some(ids) = to_name(overlay, view, &name)? else {
            return Ok(None);
        };
        found.extend(ids);
        for child in view.children(id)? {
            open.push(child?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(Some(found))
}

/// Entries that hold an affected name, found by reading every entry: an index is missing, or the subtree is large.
///
/// # Errors
/// `adminLimitExceeded`: an index is missing, and there are more entries than may be read.
pub(super) fn by_reading_all(
    overlay: &Refint,
    execution: &Execution<'_, '_>,
    change: Change<'_>,
) -> Result<Vec<EntryId>, OperationError> {
    let view = execution.view();
    let filter = naming(overlay, view, change.old);
    let plan = view.plan(0, DitScope::Subtree, &filter)?;
    if !plan.indexed {
        execution.begin_whole_pass(&WholePass {
            overlay: "refint",
            filter: &filter,
            plan: &plan,
            limit: overlay.max_read,
        })?;
    }
    let mut ids = Vec::new();
    for record in view.entries(0)? {
        let record = record?;
        for stored in attributes(overlay, &record) {
            if !values(overlay, &stored, change)?.is_empty() {
                ids.push(record.id);
                break;
            }
        }
    }
    Ok(ids)
}

/// The IDs outside a subtree that is deleted as a whole.
pub(super) fn outside(view: View<'_>, mut ids: Vec<EntryId>, top: &Dn) -> Result<Vec<EntryId>, StoreError> {
    let Location::Entry(top) = view.locate(top)? else {
        return Ok(ids);
    };
    let mut failure = None;
    ids.retain(|&id| match view.in_scope(id, top, DitScope::Subtree) {
        Ok(is_within) => !is_within,
        Err(error) => {
            failure = Some(error);
            false
        }
    });
    failure.map_or(Ok(ids), Err)
}

/// The attributes of a record that the overlay maintains, including subtypes and attributes with options. Each once.
pub(super) fn attributes<'t>(overlay: &Refint, record: &Record<'t>) -> Vec<RecordAttribute<'t>> {
    let mut found: Vec<RecordAttribute<'t>> = Vec::new();
    for asked in &overlay.attributes {
        for stored in record.answering(asked) {
            if !found.iter().any(|other| other.description() == stored.description()) {
                found.push(stored);
            }
        }
    }
    found
}

/// The values that are affected names. In a big set, only the names of a subtree are looked for one by one.
pub(super) fn values(
    overlay: &Refint,
    stored: &RecordAttribute<'_>,
    change: Change<'_>,
) -> Result<Vec<Dn>, StoreError> {
    let mut found = Vec::new();
    if !change.is_subtree && stored.is_external() {
        if stored.holds_normalized(change.old.normalized())? {
            found.push(change.old.clone());
        }
        return Ok(found);
    }
    let mut name = Dn::default();
    stored.for_each(&mut |value| {
        if name.parse_into(&overlay.schema, value).is_ok()
            && (name == *change.old || change.is_subtree && name.is_within(change.old))
        {
            found.push(name.clone());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
