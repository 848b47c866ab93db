//! Pre-read and post-read (RFC 4527): the target entry before or after the change, as the client may read it.

use ironbark_model::Entry;
use ironbark_store::{EntryId, Record, View};

use crate::{
    Configuration, OperationError,
    access::{self, Requester, Source, VisibleEntry},
    edit::checks,
    overlay::Execution,
    refusal::WriteRefusal,
    request::controls::ReadEntry,
    search::{Selection, entry_value},
};

/// The value of the pre-read response, if the request asks for it.
///
/// # Errors
/// `insufficientAccessRights` when the control is critical and the entry may not be read.
pub(crate) fn pre_read(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    record: &Record<'_>,
) -> Result<Option<Vec<u8>>, OperationError> {
    match execution.controls.pre_read() {
        Some(asked) => read(execution, view, record, &asked),
        None => Ok(None),
    }
}

/// The value of the post-read response, if the request asks for it: the entry as the transaction now has it.
///
/// # Errors
/// As of [`pre_read`].
pub(crate) fn post_read(execution: &Execution<'_, '_>, id: EntryId) -> Result<Option<Vec<u8>>, OperationError> {
    let Some(asked) = execution.controls.post_read() else {
        return Ok(None);
    };
    let view = execution.view();
    let record = checks::record_of(view, id)?;
    read(execution, view, &record, &asked)
}

fn read(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    record: &Record<'_>,
    asked: &ReadEntry<'_>,
) -> Result<Option<Vec<u8>>, OperationError> {
    let configuration = execution.configuration;
    let facts = execution.facts(view)?;
    let derived = execution.derived(facts.as_deref());
    let (view, record) = (view.deriving(&derived), &record.deriving(&derived));
    let dn = view.dn(record.id)?;
    let source = Source::Record(record, view);
    let check = access::check(execution.requester(), source);
    let Some(visible) = access::visible(check.as_ref(), source, dn.pretty()) else {
        return if asked.is_critical {
            Err(WriteRefusal::EntryUnreadable.into())
        } else {
            Ok(None)
        };
    };
    encode(configuration, &visible, asked.names).map(Some)
}

/// The same for an entry in memory, which already has all its attributes.
pub(crate) fn read_in_memory(
    requester: Requester<'_>,
    entry: &Entry,
    asked: &ReadEntry<'_>,
) -> Result<Option<Vec<u8>>, OperationError> {
    let source = Source::Memory(entry);
    let check = access::check(requester, source);
    let Some(visible) = access::visible(check.as_ref(), source, entry.dn.pretty()) else {
        return if asked.is_critical {
            Err(WriteRefusal::EntryUnreadable.into())
        } else {
            Ok(None)
        };
    };
    encode(requester.configuration, &visible, asked.names).map(Some)
}

fn encode(
    configuration: &Configuration,
    visible: &VisibleEntry<'_>,
    names: &[Box<[u8]>],
) -> Result<Vec<u8>, OperationError> {
    let mut selection = Selection::default();
    selection.resolve(&configuration.schema, names.iter().map(|name| &**name), None);
    let mut value = Vec::new();
    entry_value(configuration, visible, &selection, &mut value)?;
    Ok(value)
}
