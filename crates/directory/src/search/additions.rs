//! Controls that overlays add to a found entry.

use ironbark_ldap_proto::{EncodeControl, controls::ControlSet};
use ironbark_model::Entry;
use ironbark_runtime::WallTime;
use smallvec::SmallVec;

use super::run::SearchRun;
use crate::{
    NamingContext, OperationError,
    access::{Requester, Source, Target, VisibleEntry, WriteCheck},
    overlay::{Entries, FoundEntry, overlays_of},
};

/// The controls of a request that overlays answer with each entry, and the time when the search began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedOfEntries {
    pub(crate) controls: ControlSet,
    pub(crate) now: WallTime,
}

/// Controls of one entry, in the order of the overlays.
pub(super) type Controls = SmallVec<[Box<dyn EncodeControl>; 1]>;

/// The controls that are sent with an entry.
///
/// # Errors
/// The storage failed.
pub(super) fn controls_for(
    run: &SearchRun,
    entry: &VisibleEntry<'_>,
    asked: AskedOfEntries,
) -> Result<Controls, OperationError> {
    let mut found = Controls::new();
    let has_some = |context: &NamingContext| !overlays_of(context).entry_controls.is_empty();
    let Some((whole, entries)) = stored(run, entry, has_some)? else {
        return Ok(found);
    };
    let (configuration, context) = (&run.configuration, entries.context());
    let check = WriteCheck::on_entry(Requester::of(configuration, context, &run.origin), &whole);
    let its = FoundEntry {
        entries,
        entry: &whole,
        now: asked.now,
        permits: &|attribute, privileges| check.permits(Target::Attribute(attribute, None), privileges),
    };
    for overlay in &overlays_of(context).entry_controls {
        if overlay.asked_by().meets(asked.controls) {
            found.extend(overlay.control(&its)?);
        }
    }
    Ok(found)
}

/// The whole entry, if it lies in a database with overlays for which `has_some` is true.
fn stored<'a>(
    run: &'a SearchRun,
    entry: &VisibleEntry<'a>,
    has_some: impl Fn(&NamingContext) -> bool,
) -> Result<Option<(Entry, Entries<'a>)>, OperationError> {
    let Source::Record(record, view) = entry.source() else {
        return Ok(None);
    };
    if !run.configuration.contexts.iter().any(|context| has_some(context)) {
        return Ok(None);
    }
    let dn = view.dn(record.id)?;
    match run.configuration.context_of(&dn).filter(|context| has_some(context)) {
        Some(context) => {
            let entries = Entries::new(&run.configuration, context, view);
            Ok(Some((record.to_entry(dn)?, entries)))
        }
        None => Ok(None),
    }
}
