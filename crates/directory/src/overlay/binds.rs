//! Binds: their password has been verified, or not.

use ironbark_model::Entry;

use super::Execution;
use crate::{OperationError, ResponseControl, request::modification::Modification};

/// Decides about binds, in the transaction that records what comes of them, on the database's one writer.
pub trait BindHooks: Send + Sync {
    /// Sees a bind whose password has been verified, or not.
    ///
    /// # Errors
    /// It cannot be decided: the storage failed.
    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError>;

    /// Whether it has a say in the changes of passwords: then a connection that must change its password may do no more
    /// than that.
    fn restricts(&self) -> bool {
        false
    }

    /// Stored passwords of an entry, former ones included, that a new password will be held against: they are verified
    /// before the writer is asked.
    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let _ = entry;
        Vec::new()
    }
}

/// A bind with the password of an entry, on its way to its result. Overlays may change all but the entry and the
/// password.
pub struct BindAttempt<'a> {
    /// The entry as it is in the transaction.
    pub entry: &'a Entry,
    /// The password as it was presented, if the mechanism sends it.
    pub password: Option<&'a [u8]>,
    /// Whether it succeeds; `invalidCredentials` if the password was a wrong one.
    pub verdict: Result<(), OperationError>,
    /// Controls of the response, whatever the verdict is.
    pub controls: Vec<ResponseControl>,
    /// What is changed in the entry whatever the result is.
    pub modifications: Vec<Modification>,
    /// Whether the connection may do no more than change its password.
    pub must_change_password: bool,
}
