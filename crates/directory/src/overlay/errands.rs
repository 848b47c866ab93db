//! Errands: work of an overlay of one database in another database.

use super::Execution;
use crate::OperationError;

/// Work in a database, executed by its writer in one transaction, and then committed.
pub trait Errand: Send + Sync {
    /// The number of its steps. Each is a change with its own record; a step that changes nothing has none.
    fn steps(&self) -> usize;

    /// Executes a step. This may be called again from the first step on, if the transaction has to start over.
    ///
    /// # Errors
    /// Nothing of the errand is committed.
    fn step(&self, number: usize, execution: &mut Execution<'_, '_>) -> Result<(), OperationError>;
}
