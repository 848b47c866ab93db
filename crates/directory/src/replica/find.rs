//! Finding the entry of a UUID.

use ironbark_store::{EntryId, StoreError, View};

use crate::{OperationError, overlay::Execution, refusal::ReplicaRefusal};

/// The entry of a UUID.
///
/// # Errors
/// `busy`: there is no index yet. The storage failed.
pub(super) fn find(execution: &Execution<'_, '_>, uuid: [u8; 16]) -> Result<Option<EntryId>, OperationError> {
    find_in(execution.view(), uuid)
}

/// The same in a view of the database.
///
/// # Errors
/// As of [`find`].
pub(super) fn find_in(view: View<'_>, uuid: [u8; 16]) -> Result<Option<EntryId>, OperationError> {
    view.entry_of_uuid(&uuid).map_err(|error| match error {
        StoreError::Inapplicable(_) => ReplicaRefusal::NoIndex.into(),
        other => other.into(),
    })
}
