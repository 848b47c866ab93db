//! Slow verifications that overlays will need when a password changes, made on the hashing pool before the writer is asked: the new
//! password against the stored one and the former ones.
//!
//! What has changed by the time the writer executes is verified there.

use ironbark_model::Dn;
use ironbark_store::Location;

use crate::{
    Context, OperationError,
    password::{self, Cost},
};

/// Stored value, presented password, and whether they match.
#[derive(Clone, Default)]
pub(crate) struct Verified(Vec<(Vec<u8>, Vec<u8>, bool)>);

impl Verified {
    /// Verifies each presented password against each stored value.
    pub(crate) fn of(stored: &[Vec<u8>], presented: &[Vec<u8>]) -> Self {
        let pairs = presented
            .iter()
            .flat_map(|presented| stored.iter().map(move |stored| (stored, presented)));
        let verified = pairs.map(|(stored, presented)| {
            let matches = password::verify(stored, presented);
            (stored.clone(), presented.clone(), matches)
        });
        Self(verified.collect())
    }

    /// Whether a password matches a stored value.
    pub(crate) fn verify(&self, stored: &[u8], presented: &[u8]) -> bool {
        let known = self
            .0
            .iter()
            .find(|(known, password, _)| known == stored && password == presented);
        known.map_or_else(|| password::verify(stored, presented), |(.., matches)| *matches)
    }
}

/// The values of an entry that take long to verify and that overlays will ask about.
///
/// # Errors
/// The storage failed.
pub(crate) fn slow_values(context: &Context, dn: &Dn) -> Result<Vec<Vec<u8>>, OperationError> {
    let Some(database) = context.database().filter(|_| context.overlays.judges_binds()) else {
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
    let overlays = context.overlays.judging_binds();
    let mut values: Vec<_> = overlays.flat_map(|overlay| overlay.stored_passwords(&entry)).collect();
    values.retain(|value| password::cost(value) == Cost::Slow);
    Ok(values)
}
