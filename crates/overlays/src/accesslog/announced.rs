//! What is about to change in cn=config, which has no log of changes: noted in the database of the log before the files
//! of cn=config are written, until it is in the log. So an operation is in the log once, although the process may end
//! at any time.

use ironbark_directory::{
    OperationError,
    overlay::{Errand, Execution},
};
use ironbark_model::Dn;
use ironbark_store::{ChangeRecord, Effect, Location, StoreError, View};

/// The errand that notes what is about to change.
pub(super) struct Announcement {
    suffix: Dn,
    notes: Vec<u8>,
}

impl Announcement {
    /// For the log with this suffix.
    pub(super) fn new(suffix: Dn, records: &[ChangeRecord]) -> Self {
        let mut notes = Vec::new();
        for octets in records.iter().map(ChangeRecord::encode) {
            notes.extend((octets.len() as u64).to_be_bytes());
            notes.extend(octets);
        }
        Self { suffix, notes }
    }
}

impl Errand for Announcement {
    fn steps(&self) -> usize {
        1
    }

    fn step(&self, _: usize, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let Location::Entry(_) = execution.view().locate(&self.suffix)? else {
            return Ok(());
        };
        execution.keep_silent();
        execution.put_source(NAME, &self.notes)?;
        // Only changes are committed.
        execution.apply_further(Effect::Modify {
            dn: self.suffix.pretty().into(),
            changes: Vec::new(),
        })?;
        Ok(())
    }
}

/// What was announced and is not in the log.
///
/// # Errors
/// The storage failed; the notes are damaged.
pub(super) fn read(view: View<'_>) -> Result<Vec<ChangeRecord>, StoreError> {
    let notes = view.source(NAME)?.unwrap_or_default();
    let mut rest = notes.as_slice();
    let mut records = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let damaged = || StoreError::Format("the announced changes are cut off".to_owned());
        let (octets, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
        records.push(ChangeRecord::decode(octets)?);
        rest = behind;
    }
    Ok(records)
}

/// Forgets what was announced: it is in the log.
///
/// # Errors
/// The storage failed.
pub(super) fn forget(execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
    if execution.view().source(NAME)?.is_some_and(|notes| !notes.is_empty()) {
        execution.put_source(NAME, &[])?;
    }
    Ok(())
}

/// The name of the notes.
const NAME: &str = "announced";
