//! Binds whose password was checked, with success or without.

use ironbark_model::{Dn, Entry};

use super::Execution;
use crate::{OperationError, ResponseControl, request::modification::Modification};

/// Decides about binds. It runs on the database's one writer, in the transaction that records the results.
pub trait BindHooks: Send + Sync {
    /// Judges a bind whose password was checked, with success or without.
    ///
    /// # Errors
    /// It cannot be decided: the storage failed.
    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError>;

    /// Whether it decides nothing, and only records. Then a bind succeeds also if nothing can be written.
    fn only_records(&self) -> bool {
        false
    }

    /// Whether it asks for more than a stored password in simple binds. Then the writer compares the stored passwords,
    /// with what [`BindHooks::second_factor`] leaves of the presented one.
    fn asks_second_factor(&self) -> bool {
        false
    }

    /// Checks the second factor at the end of what a simple bind presents. `None`: the entry needs none.
    ///
    /// # Errors
    /// The storage failed.
    fn second_factor(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        presented: &[u8],
    ) -> Result<Option<SecondFactor>, OperationError> {
        let _ = (execution, entry, presented);
        Ok(None)
    }

    /// Whether it takes part in changes of passwords: then a connection that must change its password may do nothing
    /// else.
    fn restricts(&self) -> bool {
        false
    }

    /// Stored passwords of an entry, including former ones, that a new password will be compared with. The comparisons
    /// are made before the writer is asked.
    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let _ = entry;
        Vec::new()
    }
}

/// What a second factor turns out to be.
#[derive(Debug)]
pub enum SecondFactor {
    /// It is wrong: the bind fails, whatever the password is.
    Wrong,
    /// It is right, and counts if it can be marked as used.
    Right(Box<Spending>),
}

/// A factor that must not be used again.
#[derive(Debug)]
pub struct Spending {
    /// Its length, in octets: what comes before is the password.
    pub octets: usize,
    /// The entry that keeps what was used.
    pub keeper: Dn,
    /// The changes of that entry. They are made even if the password is wrong.
    pub modifications: Vec<Modification>,
    /// The key that has made the factor, if it is a stored password of the entry. `None`: what was presented before the
    /// factor is compared with the stored passwords of the entry.
    pub key: Option<FactorKey>,
}

/// A stored password that is the key of a second factor.
#[derive(Debug)]
pub struct FactorKey {
    /// The whole value.
    pub value: Vec<u8>,
    /// The stored password that is compared with what was presented before the factor. `None`: nothing may stand there.
    pub password: Option<Vec<u8>>,
}

/// A bind with the password of an entry, before its result. Overlays may change everything except the entry and the
/// password.
pub struct BindAttempt<'a> {
    /// The entry as it is in the transaction.
    pub entry: &'a Entry,
    /// The password as it was presented, without a second factor, if the mechanism sends it.
    pub password: Option<&'a [u8]>,
    /// Whether it succeeds; `invalidCredentials` if the password was wrong.
    pub verdict: Result<(), OperationError>,
    /// Controls of the response, whether the bind succeeds or not.
    pub controls: Vec<ResponseControl>,
    /// Changes of the entry, made whether the bind succeeds or not.
    pub modifications: Vec<Modification>,
    /// Whether the connection may only change its password.
    pub must_change_password: bool,
}
