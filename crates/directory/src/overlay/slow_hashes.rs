//! Slow hashes of a write: the writer computes none, so a write goes back for them.

use super::{Execution, password_checks};
use crate::{
    OperationError,
    backend::written::Wanted,
    password::{self, Cost, Scheme},
    refusal::WriteRefusal,
};

impl Execution<'_, '_> {
    /// Whether a cleartext password matches a stored value.
    ///
    /// A slow comparison that was not computed before is computed on the hashing pool. The operation is then executed
    /// again with the result, and everything before that is in vain. Call it before the first effect.
    pub fn verify_password(&self, stored: &[u8], clear: &[u8]) -> bool {
        if let Some(matches) = self.computed.verified(stored, clear) {
            return matches;
        }
        if password::cost(stored) == Cost::Slow && self.may_return() {
            self.want(Wanted::Verification(stored.to_vec(), clear.to_vec()));
            return false;
        }
        self.directory.hashing_pool().verify(stored, clear)
    }

    /// Whether a cleartext password matches one of some stored values. As [`Execution::verify_password`], but all slow
    /// comparisons are made at once, and the writer makes none of them, nor many cheap ones.
    pub(crate) fn verify_any(&self, stored: &[Vec<u8>], clear: &[u8]) -> bool {
        let is_cheap = |value: &&Vec<u8>| password::cost(value) == Cost::Cheap;
        let are_many = password::cost_of_all(stored.iter().filter(is_cheap), clear) == Cost::Slow && self.may_return();
        let mut missing = Vec::new();
        for value in stored {
            match self.computed.verified(value, clear) {
                Some(true) => return true,
                Some(false) => {}
                None if are_many || !is_cheap(&value) => missing.push(value.clone()),
                None if password::verify(value, clear) => return true,
                None => {}
            }
        }
        if !missing.is_empty() && self.may_return() {
            self.want(Wanted::AnyVerification(missing, clear.to_vec()));
        }
        false
    }

    /// Hashes a cleartext password by a scheme, or by the first of `password-hash`. For slow schemes, see
    /// [`Execution::verify_password`].
    ///
    /// # Errors
    /// `other`: the scheme makes no new values, or there was no randomness. `busy`: the hash is still to be computed.
    pub fn hash_password(&self, scheme: Option<Scheme>, clear: &[u8]) -> Result<Vec<u8>, OperationError> {
        let scheme = scheme.or(self.configuration.password_schemes.first().copied());
        let scheme = scheme.unwrap_or(Scheme::DEFAULT);
        if let Some(hashed) = self.computed.hashed(scheme, clear) {
            return hashed.clone();
        }
        if scheme.cost() == Cost::Slow && self.may_return() {
            self.want(Wanted::Hash(scheme, clear.to_vec()));
            return Err(WriteRefusal::UncomputedPassword.into());
        }
        password_checks::hash(self.directory, scheme, clear)
    }

    /// Whether the operation will be executed again, when more has been computed.
    pub fn is_in_vain(&self) -> bool {
        self.wanted.borrow().is_some()
    }

    /// Ends an operation that lacks a computed result.
    ///
    /// # Errors
    /// A result is missing.
    pub(crate) fn check_computed(&self) -> Result<(), OperationError> {
        if self.is_in_vain() {
            return Err(WriteRefusal::UncomputedPassword.into());
        }
        Ok(())
    }

    /// The missing results of the operation.
    pub(crate) fn take_wanted(&self) -> Option<Wanted> {
        self.wanted.take()
    }

    fn may_return(&self) -> bool {
        // Writes of a sequence keep their order.
        let is_sequence = self.origin.sequence.is_kept();
        !is_sequence && self.computed.may_return()
    }

    fn want(&self, wanted: Wanted) {
        self.wanted.borrow_mut().get_or_insert(wanted);
    }
}
