//! Adds of entries that are there.

use ironbark_model::Entry;
use ironbark_store::Record;

use super::Execution;
use crate::{OperationError, request::modification::Modification};

/// Makes a change of the entry out of a request to add one that is there. It is asked only about entries that the
/// client may know of, and the access rules must grant the change as if the client had asked for it.
pub trait AddHooks: Send + Sync {
    /// The change; `None`: the request stays an add. The changes have the authority of the client.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn instead_of_add(
        &self,
        execution: &Execution<'_, '_>,
        existing: &Record<'_>,
        asked: &Entry,
    ) -> Result<Option<Vec<Modification>>, OperationError>;
}
