//! Extended operations that overlays execute.

use ironbark_model::{Dn, Schema};

use super::Execution;
use crate::OperationError;

/// An extended operation that writes, in one database.
pub trait ExtendedHooks: Send + Sync {
    /// The OID of its requests. It has a row in the registry of extended operations.
    fn oid(&self) -> &'static str;

    /// Reads the value of a request.
    ///
    /// # Errors
    /// `protocolError`, or another error of the value.
    fn read(&self, schema: &Schema, value: Option<&[u8]>) -> Result<Box<dyn ExtendedWrite>, OperationError>;
}

/// A request that was read.
pub trait ExtendedWrite: Send {
    /// The entry of the request; the database of this entry executes it.
    fn dn(&self) -> &Dn;

    /// Executes it in the transaction, with the client's rights. Returns the value of the response.
    ///
    /// # Errors
    /// It is refused, or the storage failed.
    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Option<Vec<u8>>, OperationError>;
}
