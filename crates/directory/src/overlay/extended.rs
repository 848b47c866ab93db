//! Extended operations that overlays execute.

use ironbark_model::{Dn, Schema};

use super::Execution;
use crate::OperationError;

/// An extended operation that writes, in one database.
pub trait ExtendedHooks: Send + Sync {
    /// The OID of its requests, which has a row in the registry of extended operations.
    fn oid(&self) -> &'static str;

    /// Reads the value of a request.
    ///
    /// # Errors
    /// `protocolError`, or what else is wrong with it.
    fn read(&self, schema: &Schema, value: Option<&[u8]>) -> Result<Box<dyn ExtendedWrite>, OperationError>;
}

/// A request that was read.
pub trait ExtendedWrite: Send {
    /// The entry that it is about; its database executes the request.
    fn dn(&self) -> &Dn;

    /// Executes it in the transaction, as far as the client may; gives the value of the response.
    ///
    /// # Errors
    /// It is refused, or the storage failed.
    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Option<Vec<u8>>, OperationError>;
}
