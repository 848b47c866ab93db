//! Finding the entry of a UUID.

use ironbark_store::{EntryId, StoreError};

use crate::{OperationError, overlay::Execution, refusal::ReplicaRefusal};

/// The entry of a UUID.
///
/// # Errors
/// `busy`: there is no index yet. The storage failed.
pub(super) fn find(execution: &Execution<'_, '_>, uuid: [u8; 16]) -> Result<Option<EntryId>, OperationError> {
    execution.view().entry_of_uuid(&uuid).map_err(|error| match error {
        StoreError::Inapplicable(_) => ReplicaRefusal::NoIndex.into(),
        other => other.into(),
    })
}
