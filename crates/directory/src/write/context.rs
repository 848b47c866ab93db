//! The context vector of a database that begins to be served. Databases without a vector have `contextCSN` in the
//! suffix entry; tools and LDIF also put it there. It is moved into the vector. Where neither is there, and no refresh
//! has filled a part of the database, the vector begins with the greatest `entryCSN` of each server.

use ironbark_model::AttributeDescription;
use ironbark_store::{ContextVector, Csn, Database, Effect, Location, StoreError, ValueChange};

use crate::{
    backend::queue::Served,
    overlay::{SyncProvider, overlays_of},
};

/// Moves the CSNs of the suffix entry into the vector, if the database has a vector or should have one. This never
/// lowers the vector.
///
/// # Errors
/// The storage failed.
pub(super) fn take_in(served: &Served, database: &Database, own: u16) -> Result<(), StoreError> {
    let Some(suffix) = served.context.suffixes().first() else {
        return Ok(());
    };
    let description = &served.configuration.well_known.context_csn;
    let Some(mut held) = held(database, served, description)? else {
        return begin_from_entries(served, database);
    };
    // LDIF may have lost the CSN of this server, or have entries that are newer. All changes of its own are there.
    let of_entries = greatest(served, database)?;
    of_entries.of_server(own).map(|csn| held.merge(csn));
    let mut transaction = database.write()?;
    transaction.apply_effect(&Effect::Modify {
        dn: suffix.pretty().into(),
        changes: vec![ValueChange::Replace {
            attribute: "contextCSN".into(),
            values: Vec::new(),
        }],
    })?;
    transaction.merge_context(held.iter())?;
    transaction.commit()
}

/// A database with entries that should have a vector, and has none: its entries tell how far they go. Otherwise a
/// consumer would never get those that were there before the first change. Of what a provider has sent so far, only the
/// cookie at the end of the refresh tells that.
fn begin_from_entries(served: &Served, database: &Database) -> Result<(), StoreError> {
    if !served.context.settings.keeps_changes() {
        return Ok(());
    }
    let has_begun = {
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        view.context_vector()?.is_some() || view.first_uncovered()?.is_some()
    };
    if has_begun {
        return Ok(());
    }
    let vector = greatest(served, database)?;
    if vector.is_empty() {
        return Ok(());
    }
    let mut transaction = database.write()?;
    transaction.merge_context(vector.iter())?;
    transaction.commit()
}

/// The greatest CSN of each server in the entries. The suffix entry of a log was made here, by no change of its source.
fn greatest(served: &Served, database: &Database) -> Result<ContextVector, StoreError> {
    let is_log = overlays_of(&served.context)
        .provider
        .as_deref()
        .copied()
        .is_some_and(SyncProvider::is_of_log);
    let snapshot = database.snapshot()?;
    let mut vector = ContextVector::default();
    for record in snapshot.view().entries(0)? {
        let record = record?;
        if let Some(csn) = record.entry_csn()?.filter(|_| !is_log || record.parent() != 0) {
            vector.merge(csn);
        }
    }
    Ok(vector)
}

/// The CSNs in the suffix entry; `None`: there are none, or they stay there.
fn held(
    database: &Database,
    served: &Served,
    description: &AttributeDescription,
) -> Result<Option<ContextVector>, StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let keeps_vector = served.context.settings.keeps_changes() || view.context_vector()?.is_some();
    let Some(suffix) = served.context.suffixes().first().filter(|_| keeps_vector) else {
        return Ok(None);
    };
    let Location::Entry(id) = view.locate(suffix)? else {
        return Ok(None);
    };
    let Some(record) = view.record(id)? else {
        return Ok(None);
    };
    let Some(values) = record.values(description) else {
        return Ok(None);
    };
    let mut vector = ContextVector::default();
    values.for_each(&mut |value| {
        // slapd wrote other forms before 2.4, and ignores them now.
        if let Some(csn) = Csn::parse(value) {
            vector.merge(csn);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(Some(vector))
}
