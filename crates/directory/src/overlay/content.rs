//! Before a write: its content is inspected, changed or refused.

use ironbark_model::{Dn, Entry};

use super::Execution;
use crate::{OperationError, request::modification::Modification};

/// Inspects the content of writes before anything is changed. It is asked only if the access rules grant the client's
/// request, because its answer may reveal values that the client may not see. Its own changes belong to the server and
/// need no rights.
pub trait ContentHooks: Send + Sync {
    /// Inspects a new entry before the schema check; may change it, or refuse.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let _ = (execution, entry);
        Ok(())
    }

    /// Inspects the changes of an entry before they are made; may change them, or refuse. The entry need not exist if
    /// the rootdn asks.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let _ = (execution, dn, modifications);
        Ok(())
    }

    /// Inspects a new name of an entry before anything is changed; may refuse. The entry need not exist if the rootdn
    /// asks.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn before_modify_dn(
        &self,
        execution: &mut Execution<'_, '_>,
        renaming: Renaming<'_>,
    ) -> Result<(), OperationError> {
        let _ = (execution, renaming);
        Ok(())
    }
}

/// A modify DN request after the checks that need only names.
#[derive(Clone, Copy, Debug)]
pub struct Renaming<'a> {
    /// The name in the request.
    pub dn: &'a Dn,
    /// The new RDN.
    pub new_rdn: &'a Dn,
    /// `deleteoldrdn`.
    pub delete_old_rdn: bool,
    /// The whole new name.
    pub target: &'a Dn,
}
