//! Before a write: what it brings is seen, changed or refused.

use ironbark_model::{Dn, Entry};

use super::Execution;
use crate::{OperationError, request::modification::Modification};

/// Sees what writes bring before anything is changed. It is asked only if the access rules grant the client what it
/// asks for: the answer may tell of what the client may not see. Changes that it makes are the server's own and need no
/// rights.
pub trait ContentHooks: Send + Sync {
    /// Sees a new entry before it is checked against the schema; may change it, or refuse.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let _ = (execution, entry);
        Ok(())
    }

    /// Sees the changes of an entry before they are carried out; may change them, or refuse. The entry need not exist
    /// if the rootdn asks.
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

    /// Sees a new name of an entry before anything is changed; may refuse. The entry need not exist if the rootdn asks.
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

/// A modify DN request that was found possible as far as names tell.
#[derive(Clone, Copy, Debug)]
pub struct Renaming<'a> {
    /// The name in the request.
    pub dn: &'a Dn,
    /// The new RDN.
    pub new_rdn: &'a Dn,
    /// `deleteoldrdn`.
    pub delete_old_rdn: bool,
    /// The whole name as it will be.
    pub target: &'a Dn,
}
