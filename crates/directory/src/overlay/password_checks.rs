//! Slow password comparisons and hashes for overlays. The hashing pool makes them, so that they do not hold up the one
//! writer.
//!
//! Some comparisons are always needed for a change of a password: the new password with the stored one and the former
//! ones. They are made before the writer is asked. Other needs show only on the writer, because a policy requires them
//! or because something has changed meanwhile. They send the operation back to the pool ([`Wanted`]), and from there to
//! the writer again.

use std::sync::Arc;

use ironbark_model::Dn;
use ironbark_store::Location;

use crate::{
    Directory, NamingContext, OperationError,
    backend::{hashing_pool::HashingPool, written::Wanted},
    password::{self, Cost, Scheme},
    refusal::Failure,
};

/// Results that were computed for an operation.
#[derive(Clone, Default)]
pub(crate) struct Computed {
    /// Stored value, presented password, and whether they match.
    verified: Vec<(Vec<u8>, Vec<u8>, bool)>,
    hashed: Vec<Hashed>,
    /// How often the writer has sent the operation back.
    returns: u32,
}

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
        let matches = pool.verify(stored, presented);
        self.verified.push((stored.to_vec(), presented.to_vec(), matches));
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
        let mut known = self.verified.iter();
        let found = known.find(|(known, password, _)| known == stored && password == presented);
        found.map(|(.., matches)| *matches)
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

/// The values of an entry that are slow to verify and that overlays will ask about.
///
/// # Errors
/// The storage failed.
pub(crate) fn slow_values(context: &NamingContext, dn: &Dn) -> Result<Vec<Vec<u8>>, OperationError> {
    let Some(database) = context.database().filter(|_| !context.overlays().binds.is_empty()) else {
        return Ok(Vec::new());
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(Vec::new());
    };
    let Some(record) = view.record(id)? else {
        return Ok(Vec::new());
    };
    let entry = record.to_entry(view.dn(id)?)?;
    let binds = context.overlays().binds.iter();
    let mut values: Vec<_> = binds.flat_map(|binds| binds.stored_passwords(&entry)).collect();
    values.retain(|value| password::cost(value) == Cost::Slow);
    Ok(values)
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
