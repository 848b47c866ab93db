//! Slow password comparisons and hashes for overlays. The hashing pool makes them, so that they do not hold up the one
//! writer.
//!
//! Some comparisons are always needed for a change of a password: the new password with the stored one and the former
//! ones. They are made before the writer is asked. Other needs show only on the writer, because a policy requires them
//! or because something has changed meanwhile. They send the operation back to the pool ([`Wanted`]), and from there to
//! the writer again.

use std::{collections::HashMap, sync::Arc};

use crate::{
    Directory, OperationError,
    backend::{hashing_pool::HashingPool, written::Wanted},
    password::{self, Scheme},
    refusal::Failure,
};

/// Results that were computed for an operation.
#[derive(Clone, Default)]
pub(crate) struct Computed {
    /// By stored value.
    verified: HashMap<Vec<u8>, Vec<Verified>>,
    /// What the verifications have cost.
    allowance: password::Allowance,
    /// The password that was presented last: it is kept once, however many values it is compared with.
    presented: Option<Arc<[u8]>>,
    hashed: Vec<Hashed>,
    /// How often the writer has sent the operation back.
    returns: u32,
}

/// A presented password, and whether it matches.
type Verified = (Arc<[u8]>, bool);

/// A scheme, a password, and the resulting stored value.
type Hashed = (Scheme, Vec<u8>, Result<Vec<u8>, OperationError>);

impl Computed {
    /// Verifies each presented password against each stored value.
    pub(crate) fn verifying(pool: &HashingPool, stored: &[Vec<u8>], presented: &[Vec<u8>]) -> Self {
        let mut computed = Self::default();
        for presented in presented {
            for stored in stored {
                computed.verify(pool, stored, presented);
            }
        }
        computed
    }

    /// Verifies a password and keeps the result.
    pub(crate) fn verify(&mut self, pool: &HashingPool, stored: &[u8], presented: &[u8]) -> bool {
        let matches = self.allowance.take(stored, presented) && pool.verify(stored, presented);
        let kept = self.presented.take().filter(|last| **last == *presented);
        let kept = kept.unwrap_or_else(|| presented.into());
        self.presented = Some(Arc::clone(&kept));
        self.verified.entry(stored.to_vec()).or_default().push((kept, matches));
        matches
    }

    /// Adds the results that the writer asked for.
    pub(crate) fn with(mut self, directory: &Arc<Directory>, wanted: Wanted) -> Self {
        self.returns += 1;
        match wanted {
            Wanted::Verification(stored, presented) => {
                self.verify(directory.hashing_pool(), &stored, &presented);
            }
            Wanted::AnyVerification(stored, presented) => {
                let pool = directory.hashing_pool();
                let _ = stored.iter().any(|stored| self.verify(pool, stored, &presented));
            }
            Wanted::Hash(scheme, clear) => {
                let hashed = hash(directory, scheme, &clear);
                self.hashed.push((scheme, clear, hashed));
            }
        }
        self
    }

    /// Whether a password matches a stored value, if this was computed.
    pub(crate) fn verified(&self, stored: &[u8], presented: &[u8]) -> Option<bool> {
        let mut known = self.verified.get(stored)?.iter();
        let found = known.find(|(password, _)| **password == *presented);
        found.map(|(_, matches)| *matches)
    }

    /// The hash of a password by a scheme, if it was computed.
    pub(crate) fn hashed(&self, scheme: Scheme, clear: &[u8]) -> Option<&Result<Vec<u8>, OperationError>> {
        let mut known = self.hashed.iter();
        let found = known.find(|(known, password, _)| *known == scheme && password == clear);
        found.map(|(.., hashed)| hashed)
    }

    /// Whether the writer may send the operation back once more.
    pub(crate) fn may_return(&self) -> bool {
        self.returns < MAX_RETURNS
    }
}

/// Policies and passwords are not expected to change more often while one operation waits; if they do, the writer
/// computes.
const MAX_RETURNS: u32 = 8;

/// Hashes a new password. For `{CRYPT}`, a `password-crypt-salt-format` other than the default decides.
///
/// # Errors
/// `other`.
pub(crate) fn hash(directory: &Directory, scheme: Scheme, clear: &[u8]) -> Result<Vec<u8>, OperationError> {
    let mut failed = false;
    let mut salt = |buffer: &mut [u8]| failed |= directory.randomness().fill(buffer).is_err();
    let configuration = directory.configuration();
    let format = &configuration.settings.crypt_salt_format;
    let crypt_salt = if scheme == Scheme::Crypt && format != DEFAULT_CRYPT_SALT_FORMAT {
        password::crypt_salt(format, &mut salt)
    } else {
        None
    };
    let hashed = match crypt_salt {
        Some(crypt_salt) => password::hash_crypt(clear, &crypt_salt),
        None => password::hash(scheme, clear, &mut salt),
    };
    match hashed {
        Ok(value) if !failed => Ok(value),
        _ => Err(Failure::NotHashed.into()),
    }
}

/// slapd's default; new `{CRYPT}` values are then SHA-512 crypt, not DES.
const DEFAULT_CRYPT_SALT_FORMAT: &str = "%s";
