//! The stored passwords that overlays will compare with, before the writer is asked.

use ironbark_model::Dn;
use ironbark_store::Location;

use crate::{
    NamingContext, OperationError,
    overlay::overlays_of,
    password::{self, Cost},
};

/// The values of an entry that are slow to verify and that overlays will ask about.
///
/// # Errors
/// The storage failed.
pub(crate) fn slow_values(context: &NamingContext, dn: &Dn) -> Result<Vec<Vec<u8>>, OperationError> {
    let Some(database) = context.database().filter(|_| !overlays_of(context).binds.is_empty()) else {
        return Ok(Vec::new());
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(Vec::new());
    };
    let Some(record) = view.record(id)? else {
        return Ok(Vec::new());
    };
    let entry = record.to_entry(view.dn(id)?)?;
    let binds = overlays_of(context).binds.iter();
    let mut values: Vec<_> = binds.flat_map(|binds| binds.stored_passwords(&entry)).collect();
    values.retain(|value| password::cost(value) == Cost::Slow);
    Ok(values)
}
