//! The context vector of a database that begins to be served: `contextCSN` moves into it from the suffix entry, where
//! databases that keep no vector have it, and tools and LDIF put it.

use ironbark_model::AttributeDescription;
use ironbark_store::{ContextVector, Csn, Database, Effect, Location, StoreError, ValueChange};

use crate::backend::queue::Served;

/// Moves what the suffix entry holds into the vector, if the database keeps one or is to keep one. The vector is never
/// lowered by it.
///
/// # Errors
/// The storage failed.
pub(super) fn take_in(served: &Served, database: &Database) -> Result<(), StoreError> {
    let Some(suffix) = served.context.suffixes().first() else {
        return Ok(());
    };
    let description = &served.configuration.well_known.context_csn;
    let Some(held) = held(database, served, description)? else {
        return Ok(());
    };
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

/// The CSNs that the suffix entry holds; `None`: none, or they stay there.
fn held(
    database: &Database,
    served: &Served,
    description: &AttributeDescription,
) -> Result<Option<ContextVector>, StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let keeps_vector = served.context.settings.mdb.keeps_changes() || view.context_vector()?.is_some();
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
        // slapd has written others before 2.4, and takes no notice of them either.
        if let Some(csn) = Csn::parse(value) {
            vector.merge(csn);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(Some(vector))
}
